// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaves free RAM in single pages, whose neighbours are taken and cannot be
 * moved, and stays: pages of two pipes in turn, of which one is read empty.
 *
 *   singlepages LEFT_KIB    stops when so much RAM is free
 *
 * Prints "ready" once it is so.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { PAGE = 4096, PIPE_PAGES = 256, PAIRS_MAX = 400 };

static char page[PAGE];

static void must(int done)
{
	if (!done) {
		perror("singlepages");
		exit(1);
	}
}

static long free_kib(void)
{
	struct sysinfo now;

	must(!sysinfo(&now));
	return now.freeram / 1024 * now.mem_unit;
}

static void make(int ends[2])
{
	must(!pipe(ends));
	must(fcntl(ends[1], F_SETPIPE_SZ, PIPE_PAGES * PAGE) > 0);
}

/* Writes pages to both until the pipes are full; the pages that each got. */
static int fill(int one, int other, long left_kib)
{
	int n = 0;

	while (n < PIPE_PAGES && free_kib() > left_kib) {
		must(write(one, page, PAGE) == PAGE);
		must(write(other, page, PAGE) == PAGE);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	static int kept[PAIRS_MAX][2], freed[PAIRS_MAX][2], pages[PAIRS_MAX];
	long left_kib = argc == 2 ? atol(argv[1]) : 0;
	int pairs = 0;

	must(left_kib > 0);
	do {
		make(kept[pairs]);
		make(freed[pairs]);
		pages[pairs] = fill(kept[pairs][1], freed[pairs][1], left_kib);
	} while (pages[pairs++] == PIPE_PAGES && pairs < PAIRS_MAX);
	while (pairs--)
		while (pages[pairs]--)
			must(read(freed[pairs][0], page, PAGE) == PAGE);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
