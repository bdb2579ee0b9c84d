// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cuts power as sync(2) returns, and saves what the chip holds then to a file.
 * A chip can be loaded from that file of which the kernel has nothing in RAM.
 * The counts go to a file beside it, to show that the chip has done no
 * operation since. Then power is restored for what is still mounted: kernels
 * have been seen to panic when they unmount JFFS2 from a dead chip.
 *
 * Needs simnand and root. Costs a read of the chip's whole image.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "flashstat.h"
#include "fsops.h"

#define POWER	 FLASHSTAT_DIRECTORY "/power"
#define IMAGE	 FLASHSTAT_DIRECTORY "/image"
#define COUNTERS FLASHSTAT_DIRECTORY "/counters"

static int copy_open(int from, int to, const char *path)
{
	static char data[IO_PIECE];
	ssize_t got;

	while ((got = read(from, data, sizeof(data))) > 0)
		if (checked_write(to, data, (size_t)got, path))
			return -1;
	return got ? fail_errno("read what goes to", path) : 0;
}

static int copy(const char *source, const char *path)
{
	int from = checked_open(source, O_RDONLY | O_CLOEXEC, 0);
	int to = checked_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			      0600);
	int error = from < 0 || to < 0 ? -1 : copy_open(from, to, path);

	if (from >= 0)
		close(from);
	if (to >= 0 && checked_close(to, path))
		error = -1;
	return error;
}

static int take(const char *path)
{
	char *counters = text("%s.counters", path);
	int error = copy(COUNTERS, counters) || copy(IMAGE, path) ? -1 : 0;

	free(counters);
	return error;
}

/*
 * Let no other task run, or let them run again. JFFS2's collector must not run
 * while power is off: Linux 6.1 panics in __jffs2_flush_wbuf() when it finds
 * the chip dead.
 */
static int alone(bool yes)
{
	struct sched_param only = {.sched_priority = yes};

	if (sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &only))
		return fail_errno("keep other tasks from running for", POWER);
	return 0;
}

void cut(const struct args *args)
{
	int power = checked_open(POWER, O_WRONLY | O_CLOEXEC, 0);
	int error = power < 0 || alone(true) ? -1 : 0;

	sync(); /* nothing may come between this and the power cut */
	if (!error)
		error = checked_write(power, "off", 3, POWER);
	if (!error) {
		error = take(args->path[0]);
		if (checked_write(power, "on", 2, POWER))
			error = -1;
	}
	if (power >= 0)
		close(power);
	if (alone(false))
		error = -1;
	say(error);
}
