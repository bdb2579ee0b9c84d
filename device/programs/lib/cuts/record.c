// SPDX-License-Identifier: GPL-2.0-or-later
/* A campaign's beginning, the base of the loads, and a load in the journal from
 * mount to unmount. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include "cuts/campaign.h"
#include "diag.h"

/* 2030: files of a load have the same times. */
#define LOAD_BEGINS_S 1893456000
#define CONSOLE_LEVEL 8
#define ALERTS	      2

/* Unmounting waits for several grace periods, which else take a tick each and
 * are most of an unmount. No kernel has to have the knob. */
static void hurry_grace_periods(void)
{
	int fd = open("/sys/kernel/rcu_expedited", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "1");
	close(fd);
}

int cuts_begin(struct request *request, int *console)
{
	*console = open("/dev/console", O_WRONLY | O_CLOEXEC);
	klogctl(CONSOLE_LEVEL, NULL, ALERTS);
	hurry_grace_periods();
	return kernel_open(request->subject.checks);
}

static bool keeps(enum what what)
{
	return what == OP_FSYNC || what == OP_FDATASYNC ||
	       what == OP_FSYNCDIR || what == OP_SYNC || what == OP_READONLY;
}

/* The base once, then all mounts of the campaign find it. */
int cuts_make_base(const struct request *request)
{
	struct load load = {0};
	int i, error = request->subject.oracle->read(request->loads, 0, &load);

	if (error > 0)
		return fail("%s: no load in it", request->loads);
	if (error < 0)
		return -1;
	if (subject_mount(&request->subject))
		return fail_errno("mount", request->subject.source);
	for (i = 0; !error && i < load.base; i++)
		error = request->subject.oracle->play(&load, i);
	request->subject.oracle->play_end();
	if (subject_unmount(&request->subject) && !error)
		error = fail_errno("unmount", MOUNTPOINT);
	request->subject.oracle->free(&load);
	return error;
}

static void judge_failed(const struct load *load, int number,
			 struct finding *beside)
{
	const struct op *op = &load->op[number];

	cuts_found(beside, CALL_FAILS, "call %d, on %s: %s", number,
		   op->name == NONE ? "all" : load->name[op->name].path,
		   strerror(diag_errno()));
}

static int play_marked(const struct request *request, const struct load *load,
		       struct finding *beside)
{
	bool begun = false;
	int i;

	for (i = load->base; i < load->ops; i++) {
		if (journal_say("mark %d", BEGUN(i)))
			return -1;
		if (!(request->lie && keeps(load->op[i].what)) &&
		    request->subject.oracle->play(load, i)) {
			if (begun && diag_errno())
				judge_failed(load, i, beside);
			return -1;
		}
		begun = begun || load->op[i].what == OP_BEGINSYNC;
		if (journal_say("mark %d", RETURNED(i)))
			return -1;
	}
	return 0;
}

/* The clock of a load's files: each recording has the same. */
void cuts_set_clock(void)
{
	struct timespec begin = {.tv_sec = LOAD_BEGINS_S};

	clock_settime(CLOCK_REALTIME, &begin);
}

/* The load from mount to unmount, in the journal. */
int cuts_record(const struct request *request, struct load *load,
		struct finding *beside)
{
	int error;

	cuts_set_clock();
	if (journal_say("record"))
		return -1;
	if (subject_mount(&request->subject))
		return fail_errno("mount", request->subject.source);
	error = play_marked(request, load, beside);
	request->subject.oracle->play_end();
	if (subject_unmount(&request->subject) && !error)
		error = fail_errno("unmount", MOUNTPOINT);
	if (journal_say("stop") || error)
		return -1;
	return journal_read_marks(load);
}
