// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cutcheck's player on a folder of this machine: play_folder LOADS plays the
 * base and the first load of a file in ./mnt, and drops no cache but ./caches.
 * A call that is refused is named with its number.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cuts/files.h"
#include "diag.h"

int main(int argc, char **argv)
{
	struct load load = {0};
	int i;

	umask(022);
	if (argc < 2 || cuts_files_read(argv[1], 0, &load))
		return EXIT_USAGE;
	for (i = 0; i < load.ops; i++) {
		if (i < load.base && load.op[i].what == OP_SYNC)
			continue;
		if (cuts_files_play(&load, i)) {
			printf("%d: %s\n", i, strerror(diag_errno()));
			return EXIT_RUN_FAILED;
		}
	}
	cuts_files_play_end();
	cuts_files_free(&load);
	return EXIT_OK;
}
