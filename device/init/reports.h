// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is reported before a job's first step: that the board is ready, and the
 * RAM that is available. Included once, by who has main().
 */
#ifndef NANDLAB_INIT_REPORTS_H
#define NANDLAB_INIT_REPORTS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "channel.h"
#include "moment.h"

#define RECORD_FORMAT 3
#define AVAILABLE     "\nMemAvailable:"

/* RAM that programs and the page cache can have, in bytes. */
static long long available_bytes(void)
{
	size_t size;
	char *text = read_file("/proc/meminfo", &size);
	char *at = text ? strstr(text, AVAILABLE) : NULL;
	int64_t kib;

	errno = EINVAL;
	if (!at)
		die("/proc/meminfo");
	kib = number_within(at + strlen(AVAILABLE), INT64_MAX / 1024,
			    "/proc/meminfo");
	free(text);
	return kib * 1024;
}

static void report_ready(void)
{
	struct utsname u;

	if (uname(&u))
		die("uname");
	record("{\"event\":\"ready\",\"format\":%d,\"kernel\":\"%s "
	       "%s\",\"available\":%lld,\"t_ns\":%lld}",
	       RECORD_FORMAT, u.release, u.version, available_bytes(),
	       (long long)now_ns());
	record_end();
}

static void report_job(void)
{
	record("{\"event\":\"job\",\"available\":%lld,\"t_ns\":%lld}",
	       available_bytes(), (long long)now_ns());
	record_end();
}

#endif
