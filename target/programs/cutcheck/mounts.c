// SPDX-License-Identifier: GPL-2.0-or-later
/* A verdict of what is on the chip: by a mount, a write, files made longer, and
 * a second mount. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cut.h"

#define AFTER	    MOUNTPOINT "/written-after"
#define AFTER_BYTES 5000

static int write_after(void)
{
	int fd = open(AFTER, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char bytes[AFTER_BYTES];
	int error;

	memset(bytes, 'a', sizeof(bytes));
	if (fd < 0)
		return -1;
	error = write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || fsync(fd);
	return close(fd) || error ? -1 : 0;
}

static bool after_is_there(void)
{
	char bytes[AFTER_BYTES + 1];
	int fd = open(AFTER, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return got == AFTER_BYTES && bytes[0] == 'a' &&
	       bytes[AFTER_BYTES - 1] == 'a';
}

/* The second mount, with the file system's own checks. If only they keep it
 * from mounting, they fail. */
static int mount_checked(const struct subject *subject, struct finding *finding)
{
	int why;

	if (knobs_set(subject->checks, true))
		return -1;
	if (!subject_mount(subject))
		return 0;
	why = errno;
	knobs_set(subject->checks, false);
	if (!subject->checks->count || subject_mount(subject)) {
		errno = why;
		return -1;
	}
	found(finding, CHECK, "its own check at the second mount: %s",
	      strerror(why));
	return 0;
}

/* The second mount shows what the first did, the file written since, and zeros
 * by which files were made longer. What it shows of before is judged only if it
 * is not the same. */
static void judge_again(const struct subject *subject, const struct load *load,
			uint32_t operations, bool in_next,
			struct finding *finding, uint64_t first)
{
	uint64_t second;

	if (mount_checked(subject, finding)) {
		found(finding, NOT_AFTER, "second mount: %s", strerror(errno));
		return;
	}
	kernel_judge(finding); /* its checks, before what they may explain */
	if (!after_is_there())
		found(finding, NOT_AFTER, "a file written and synced is lost");
	unlink(AFTER);
	look(load, finding, &second);
	if (first != second) {
		judge(load, operations, in_next, finding, &second);
		found(finding, CHANGED,
		      "each mount's may be, but nobody wrote to it");
	}
	if (subject_unmount(subject))
		found(finding, NOT_AFTER, "second unmount: %s",
		      strerror(errno));
	knobs_set(subject->checks, false);
}

void judge_mounts(const struct subject *subject, const struct load *load,
		  uint32_t operations, bool in_next, struct finding *finding,
		  uint32_t *recovery)
{
	uint64_t seen;

	extend_none(load);
	if (subject_mount(subject)) {
		found(finding, UNMOUNTABLE, "%s", strerror(errno));
		return;
	}
	journal_checked(recovery);
	judge(load, operations, in_next, finding, &seen);
	if (write_after())
		found(finding, NOT_AFTER, "a write or its sync: %s",
		      strerror(errno));
	/* last, for it may take all room; what is wrong already explains more
	 */
	if (finding->verdict == HELD)
		extend_files(load, subject->stale, finding);
	if (subject_unmount(subject))
		found(finding, NOT_AFTER, "unmount: %s", strerror(errno));
	else
		judge_again(subject, load, operations, in_next, finding, seen);
}

void count(struct tally *tally, const struct finding *finding,
	   const char *where)
{
	enum verdict verdict = finding->verdict;

	if (!tally->count[verdict]++) {
		tally->first[verdict] = *finding;
		snprintf(tally->where[verdict], sizeof(tally->where[verdict]),
			 "%s", where);
	}
}
