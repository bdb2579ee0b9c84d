// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often cutcheck mounts a point of each way to tear: points_mounts MOUNTS
 * WAY...
 *
 * The chip's table of ways is the file ./journal_ways. A load of one program is
 * cut at it. Prints a line for each point: how often it would be mounted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuts/campaign.h"
#include "diag.h"

int cuts_begin(struct request *request, int *console)
{
	(void)request;
	*console = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return *console < 0 ? -1 : 0;
}

int cuts_make_base(const struct request *request)
{
	(void)request;
	return 0;
}

int cuts_record(const struct request *request, struct load *load,
		struct finding *beside)
{
	(void)request;
	(void)load;
	(void)beside;
	return 0;
}

int __wrap_journal_say(const char *format, ...);
int __wrap_journal_recorded(uint32_t *operations);
int __wrap_journal_chip(uint32_t *crc);
int __wrap_journal_recording(uint64_t *digest);
char *__wrap_journal_kinds(void);

int __wrap_journal_say(const char *format, ...)
{
	(void)format;
	return 0;
}

int __wrap_journal_recorded(uint32_t *operations)
{
	*operations = 1;
	return 0;
}

int __wrap_journal_chip(uint32_t *crc)
{
	*crc = 0;
	return 0;
}

int __wrap_journal_recording(uint64_t *digest)
{
	*digest = 0;
	return 0;
}

char *__wrap_journal_kinds(void)
{
	return strdup("p");
}

void judge_mounts(const struct subject *subject, const struct cut *cut,
		  struct finding *finding, uint32_t *synced)
{
	(void)subject;
	(void)finding;
	(void)synced;
	if (!cut->operations)
		printf("%d\n", cut->mounts);
}

int judge_synced(const struct subject *subject, uint32_t synced,
		 struct finding *finding)
{
	(void)subject;
	(void)synced;
	(void)finding;
	return 0;
}

void kernel_judge(struct finding *finding)
{
	(void)finding;
}

void cuts_count(struct tally *tally, const struct finding *finding,
		const char *where)
{
	(void)tally;
	(void)finding;
	(void)where;
}

int cuts_tell(const struct request *request, const struct load *load,
	      const struct tally *tally)
{
	(void)request;
	(void)load;
	(void)tally;
	return 0;
}

int cuts_tell_refused(const struct load *load)
{
	(void)load;
	return -1;
}

int cuts_tell_failed(const struct load *load, uint32_t operations,
		     const struct finding *finding)
{
	(void)load;
	(void)operations;
	(void)finding;
	return -1;
}

static int read_one(const char *path, int n, struct load *load)
{
	static char title[] = "one";

	(void)path;
	load->title = title;
	return n > 0;
}

static void free_none(struct load *load)
{
	(void)load;
}

int main(int argc, char **argv)
{
	struct oracle oracle = {.read = read_one, .free = free_none};
	struct request request = {
		.subject.oracle = &oracle,
		.every = 1,
		.seed = 1,
		.seeds = 1,
		.repeat = 1,
	};
	int i;

	if (argc < 3)
		return EXIT_USAGE;
	request.mounts = strtoul(argv[1], NULL, 10);
	for (i = 2; i < argc; i++)
		request.variants[request.variant_count++] = argv[i];
	return cuts_points(&request) ? EXIT_RUN_FAILED : EXIT_OK;
}
