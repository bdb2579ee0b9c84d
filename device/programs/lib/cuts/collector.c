// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector beside the load. JFFS2's is a thread of the kernel's that makes
 * one pass for each SIGHUP, whether there is need or not (fs/jffs2/background.c
 * of Linux). The load goes on so many microseconds of the board's clock later,
 * in the midst of the pass, or behind it. A pass moves one node.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/calls.h"
#include "diag.h"

#ifndef COLLECTOR /* a test has another */
#define COLLECTOR "jffs2_gcd_mtd"
#endif

/* Whether a number of /proc is that of the collector. */
static bool is_collector(const char *pid)
{
	char path[PATH_MAX], *name;
	bool is;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	name = slurp(path);
	is = name && !strncmp(name, COLLECTOR, strlen(COLLECTOR));
	free(name);
	return is;
}

/* 0: there is none. */
static pid_t find_collector(void)
{
	DIR *all = opendir("/proc");
	struct dirent *each;
	pid_t found = 0;

	while (all && !found && (each = readdir(all)))
		if (is_collector(each->d_name))
			found = (pid_t)strtol(each->d_name, NULL, 10);
	if (all)
		closedir(all);
	return found;
}

int cuts_play_wakegc(const struct op *op)
{
	struct timespec later = {
		.tv_sec = (time_t)(op->bytes / 1000000),
		.tv_nsec = (long)(op->bytes % 1000000) * 1000,
	};
	pid_t collector = find_collector();

	errno = EOPNOTSUPP;
	if (!collector || kill(collector, SIGHUP))
		return fail_errno("wake", "the collector");
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &later, NULL)
		       ? fail("the load was woken too early")
		       : 0;
}
