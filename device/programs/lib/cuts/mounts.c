// SPDX-License-Identifier: GPL-2.0-or-later
/* A verdict of what is on the chip: by a mount, a write, files made longer, a
 * second mount, and a mount of what that write's sync had put on flash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuts/campaign.h"
#include "payload.h"

#define AFTER	    MOUNTPOINT "/" CHECKS_OWN
#define AFTER_BYTES 5000

/* No page of it is like another, and no byte is 0, as a hole's are. */
static const uint8_t *after_bytes(void)
{
	static uint8_t bytes[AFTER_BYTES];
	uint64_t state = AFTER_BYTES;
	size_t i;

	if (bytes[0])
		return bytes;
	for (i = 0; i < AFTER_BYTES; i++)
		bytes[i] = (uint8_t)payload_draw(&state) | 1;
	return bytes;
}

static int write_after(bool lies)
{
	int fd = open(AFTER, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int error;

	if (fd < 0)
		return -1;
	error = write(fd, after_bytes(), AFTER_BYTES) != AFTER_BYTES ||
		(!lies && fsync(fd));
	return close(fd) || error ? -1 : 0;
}

static void judge_after(struct finding *finding, const char *when)
{
	uint8_t bytes[AFTER_BYTES + 1];
	int fd = open(AFTER, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (got < 0)
		cuts_found(finding, NOT_AFTER,
			   "a file written and synced is lost%s: %s", when,
			   strerror(errno));
	else if (got != AFTER_BYTES ||
		 memcmp(bytes, after_bytes(), AFTER_BYTES))
		cuts_found(finding, NOT_AFTER,
			   "a file written and synced is lost%s: other bytes",
			   when);
	if (fd >= 0)
		close(fd);
}

/* The second mount, with the file system's own checks. If only they keep it
 * from mounting, they fail. */
static int mount_checked(const struct subject *subject, struct finding *finding)
{
	int why;

	knobs_set(subject->checks, true);
	if (!subject_mount(subject)) {
		knobs_mounted(subject->checks);
		return 0;
	}
	why = errno;
	knobs_set(subject->checks, false);
	if (!subject->checks->count || subject_mount(subject)) {
		errno = why;
		return -1;
	}
	cuts_found(finding, CHECK, "its own check at the second mount: %s",
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
		cuts_found(finding, NOT_AFTER, "second mount: %s",
			   strerror(errno));
		return;
	}
	kernel_judge(finding); /* its checks, before what they may explain */
	judge_after(finding, "");
	unlink(AFTER);
	subject->oracle->look(load, finding, &second);
	if (first != second) {
		subject->oracle->judge(load, operations, in_next, finding,
				       &second);
		cuts_found(finding, CHANGED,
			   "each mount's may be, but nobody wrote to it");
	}
	if (subject_unmount(subject))
		cuts_found(finding, NOT_AFTER, "second unmount: %s",
			   strerror(errno));
	knobs_set(subject->checks, false);
}

/* After a mount that failed: whether the next one does too. */
static void judge_unmountable(const struct subject *subject,
			      struct finding *finding)
{
	const char *why = strerror(errno);
	bool twice = subject_mount(subject);

	cuts_found(finding, UNMOUNTABLE, "%s, %s", why,
		   twice ? "and at the next mount"
			 : "and the next mount succeeds");
	if (!twice)
		subject_unmount(subject);
}

void judge_mounts(const struct subject *subject, const struct load *load,
		  uint32_t operations, bool in_next, struct finding *finding,
		  uint32_t *synced)
{
	uint64_t seen;

	if (subject->oracle->extends)
		extend_none(load);
	if (subject_mount(subject)) {
		judge_unmountable(subject, finding);
		return;
	}
	subject->oracle->judge(load, operations, in_next, finding, &seen);
	if (write_after(subject->lies))
		cuts_found(finding, NOT_AFTER, "a write or its sync: %s",
			   strerror(errno));
	journal_checked(synced);
	/* last, for it may take all room; what is wrong already explains more
	 */
	if (finding->verdict == HELD && subject->oracle->extends)
		extend_files(load, subject->stale, finding);
	if (subject_unmount(subject))
		cuts_found(finding, NOT_AFTER, "unmount: %s", strerror(errno));
	else
		judge_again(subject, load, operations, in_next, finding, seen);
}

int judge_synced(const struct subject *subject, uint32_t synced,
		 struct finding *finding)
{
	if (journal_say("back %u before 1", synced))
		return -1;
	if (subject_mount(subject)) {
		cuts_found(finding, NOT_AFTER, "mount after another cut: %s",
			   strerror(errno));
		return 0;
	}
	judge_after(finding, " by another cut");
	if (subject_unmount(subject))
		cuts_found(finding, NOT_AFTER, "unmount after another cut: %s",
			   strerror(errno));
	return 0;
}

void cuts_count(struct tally *tally, const struct finding *finding,
		const char *where)
{
	enum verdict verdict = finding->verdict;

	if (!tally->count[verdict]++) {
		tally->first[verdict] = *finding;
		snprintf(tally->where[verdict], sizeof(tally->where[verdict]),
			 "%s", where);
	}
}
