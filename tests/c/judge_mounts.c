// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How cutcheck judges mount after mount, with mounts that are written down:
 * judge_mounts MOUNTS WORD...
 *
 * A word is a mount, in order: x, it fails; else what it shows, as a number.
 * The oracle holds whatever is shown. Prints the verdict's name, what was
 * found, and how many mounts there were. The folder is ./mnt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuts/campaign.h"
#include "diag.h"

static char **words; /* of the mounts that are left */
static int mounts;

int subject_mount(const struct subject *subject)
{
	(void)subject;
	if (!*words)
		exit(EXIT_RUN_FAILED);
	mounts++;
	errno = EUCLEAN;
	return *(*words++) == 'x' ? -1 : 0;
}

int subject_unmount(const struct subject *subject)
{
	(void)subject;
	return 0;
}

static void look(const struct load *load, struct finding *finding,
		 uint64_t *seen)
{
	(void)load;
	(void)finding;
	*seen = strtoull(words[-1], NULL, 10);
}

static void judge(const struct load *load, uint32_t operations, bool in_next,
		  struct finding *finding, uint64_t *seen)
{
	(void)operations;
	(void)in_next;
	look(load, finding, seen);
}

void knobs_set(struct knobs *knobs, bool on)
{
	(void)knobs;
	(void)on;
}

void knobs_mounted(const struct knobs *knobs)
{
	(void)knobs;
}

void kernel_judge(struct finding *finding)
{
	(void)finding;
}

int journal_say(const char *format, ...)
{
	(void)format;
	return 0;
}

int journal_checked(uint32_t *operations)
{
	*operations = 1;
	return 0;
}

void extend_none(const struct load *load)
{
	(void)load;
}

void extend_files(const struct load *load, bool stale, struct finding *finding)
{
	(void)load;
	(void)stale;
	(void)finding;
}

int main(int argc, char **argv)
{
	struct oracle oracle = {.judge = judge, .look = look};
	struct knobs checks = {0};
	struct subject subject = {.oracle = &oracle, .checks = &checks};
	struct load load = {0};
	struct finding finding = {0};
	uint32_t synced;

	if (argc < 3)
		return EXIT_USAGE;
	words = argv + 2;
	judge_mounts(&subject, &(struct cut){&load, 0, true, atoi(argv[1])},
		     &finding, &synced);
	printf("%s\n%s\n%d\n", cuts_verdict_names[finding.verdict],
	       finding.what, mounts);
	return EXIT_OK;
}
