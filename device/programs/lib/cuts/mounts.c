// SPDX-License-Identifier: GPL-2.0-or-later
/* A verdict of what is on the chip: by a mount, a write, files made longer, a
 * second mount and perhaps more, and a mount of what that write's sync had put
 * on flash. */
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

/* What a later mount shows of before the cut: the same digest as the one before
 * it. It is judged only if it is not. */
static void judge_same(const struct subject *subject, const struct cut *cut,
		       struct finding *finding, int number, uint64_t *seen)
{
	uint64_t before = *seen;

	subject->oracle->look(cut->load, finding, seen);
	if (*seen == before)
		return;
	subject->oracle->judge(cut->load, cut->operations, cut->in_next,
			       finding, seen);
	if (number == 2)
		cuts_found(finding, CHANGED,
			   "each mount's may be, but nobody wrote to it");
	else
		cuts_found(finding, CHANGED,
			   "mount %d: each mount's may be, but nobody wrote "
			   "to it",
			   number);
}

/* After a mount that failed: whether any of the later ones succeeds. */
static void judge_failed_mount(const struct subject *subject,
			       const struct cut *cut, int number,
			       struct finding *finding)
{
	enum verdict verdict = number == 1 ? UNMOUNTABLE : NOT_AFTER;
	const char *why = strerror(errno);
	int next = number + 1;

	while (next <= cut->mounts && subject_mount(subject))
		next++;
	if (next <= cut->mounts)
		subject_unmount(subject);
	if (number == cut->mounts)
		cuts_found(finding, verdict, "mount %d: %s", number, why);
	else if (next > cut->mounts && cut->mounts > MOUNTS_MIN)
		cuts_found(finding, NEVER_AGAIN,
			   "mount %d and each after it, of %d: %s", number,
			   cut->mounts, why);
	else if (next > cut->mounts)
		cuts_found(finding, verdict, "%s, and at the next mount", why);
	else if (next == number + 1)
		cuts_found(finding, verdict, "%s, and the next mount succeeds",
			   why);
	else
		cuts_found(finding, verdict, "%s, and mount %d succeeds", why,
			   next);
}

/* The second mount shows what the first did, the file written since, and zeros
 * by which files were made longer. Whether there may be another mount. */
static bool judge_second(const struct subject *subject, const struct cut *cut,
			 struct finding *finding, uint64_t *seen)
{
	bool mounted;

	if (mount_checked(subject, finding)) {
		judge_failed_mount(subject, cut, 2, finding);
		return false;
	}
	kernel_judge(finding); /* its checks, before what they may explain */
	judge_after(finding, "");
	unlink(AFTER);
	judge_same(subject, cut, finding, 2, seen);
	mounted = subject_unmount(subject);
	if (mounted)
		cuts_found(finding, NOT_AFTER, "second unmount: %s",
			   strerror(errno));
	knobs_set(subject->checks, false);
	return !mounted;
}

/* Mounts at which nobody writes: unstable cells may read otherwise at any. */
static void judge_later(const struct subject *subject, const struct cut *cut,
			struct finding *finding, uint64_t seen)
{
	int number;

	for (number = 3; number <= cut->mounts && finding->verdict == HELD;
	     number++) {
		if (subject_mount(subject)) {
			judge_failed_mount(subject, cut, number, finding);
			return;
		}
		judge_same(subject, cut, finding, number, &seen);
		if (subject_unmount(subject)) {
			cuts_found(finding, NOT_AFTER, "unmount %d: %s", number,
				   strerror(errno));
			return;
		}
	}
}

void judge_mounts(const struct subject *subject, const struct cut *cut,
		  struct finding *finding, uint32_t *synced)
{
	const struct load *load = cut->load;
	uint64_t seen;

	if (subject->oracle->extends)
		extend_none(load);
	if (subject_mount(subject)) {
		judge_failed_mount(subject, cut, 1, finding);
		return;
	}
	subject->oracle->judge(load, cut->operations, cut->in_next, finding,
			       &seen);
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
	else if (judge_second(subject, cut, finding, &seen))
		judge_later(subject, cut, finding, seen);
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
