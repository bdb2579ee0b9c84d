// SPDX-License-Identifier: GPL-2.0-or-later
/* An allocation of memory fails within the load's calls, and the file system is
 * tried before it is unmounted. */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"

#define CONTROL	   "/sys/kernel/debug/nomem/fail"
#define TRIED	   MOUNTPOINT "/" CHECKS_OWN
#define HUNG_TASK  "/proc/sys/kernel/hung_task_"
#define HUNG_S	   "30" /* no operation of a load takes a second */
#define NOTE_BYTES 320

static int control = -1;
static bool struck;
static char note[NOTE_BYTES];

static int set_hung_task(const char *what, const char *value)
{
	char *path = text(HUNG_TASK "%s", what);
	int fd = checked_open(path, O_WRONLY, 0);
	int error = fd < 0 || checked_write(fd, value, strlen(value), path) ||
		    checked_close(fd, path);

	free(path);
	return error ? -1 : 0;
}

/* The control file is held open: to open it allocates. Who waits for a lock
 * that nobody will release waits for ever, so the kernel is to die then. */
int memory_prepare(const struct request *request)
{
	(void)request;
	control = checked_open(CONTROL, O_WRONLY, 0);
	return control < 0 || set_hung_task("timeout_secs", HUNG_S) ||
			       set_hung_task("panic", "1")
		       ? -1
		       : 0;
}

static int tell(uint32_t number, const char *which)
{
	char words[24];
	int size = snprintf(words, sizeof(words), "%u %s", number, which);

	return write(control, words, (size_t)size) == size
		       ? 0
		       : fail_errno("write", CONTROL);
}

/* This program's own memory for what the load writes is no call of the load. */
static void make_bytes(const struct load *load)
{
	int i;

	for (i = load->base; i < load->ops; i++)
		switch (load->op[i].what) {
		case OP_WRITE:
		case OP_SWRITE:
		case OP_MWRITE:
		case OP_SYMLINK:
		case OP_TMPLINK:
		case OP_SETXATTR:
			cuts_load_bytes(load, i);
			break;
		default:
			break;
		}
}

/* The K-th allocation of this process from now on. */
int memory_fail(const struct point *p)
{
	struck = false;
	make_bytes(p->load);
	return tell(p->k + 1, p->kind->allocations);
}

/* The file system is as it was after the call, not mounted anew: a file is
 * made, synced and deleted, or all is read-only. */
static int try_file(void)
{
	int fd = open(TRIED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int error;

	if (fd < 0)
		return -1;
	error = write(fd, note, sizeof(note)) != sizeof(note) || fsync(fd);
	return close(fd) || error || unlink(TRIED) ? -1 : 0;
}

/* Who asked for it, whether that may wait, and what became of the call. */
static int read_note(const struct point *p)
{
	char *all = slurp(CONTROL), *callers, *end;

	if (!all)
		return fail_errno("read", CONTROL);
	callers = strstr(all, "callers ");
	struck = strstr(all, "failed 1") != NULL;
	if (struck && callers) {
		callers += strlen("callers ");
		end = strchr(callers, '\n');
		if (end)
			*end = '\0';
		snprintf(note, sizeof(note), "%s, %s, %s", callers,
			 strstr(all, "waits 1") ? "may wait" : "does not wait",
			 p->failed ? strerror(p->error) : "no call fails");
	}
	free(all);
	return 0;
}

int memory_finish(struct point *p)
{
	if (tell(0, "any") || read_note(p))
		return -1;
	if (!struck)
		return 0;
	if (p->k == ALLOCATIONS_MOST - 1)
		return fail("%s: more than %u allocations: take a shorter load",
			    p->load->title, ALLOCATIONS_MOST);
	if (try_file() && errno != EROFS)
		cuts_found(&p->finding, NOT_AFTER,
			   "as it was mounted, a file cannot be made, synced "
			   "and deleted: %s",
			   strerror(errno));
	return 0;
}

bool memory_failed(void)
{
	return struck;
}

const char *memory_note(void)
{
	return note;
}
