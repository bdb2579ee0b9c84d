// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cutcheck's judge on a folder of this machine, which stands for what a mount
 * after a cut shows: judge_folder LOADS OPERATIONS IN_NEXT [COMMAND] < marks
 *
 * The marks are lines as the journal's. With a command the files are made
 * longer as well, and the folder is looked at again when the command has been
 * run, as at the second mount. Prints the verdict's name, what was found, and
 * what was made longer. The folder is ./mnt. Where NO_LONGER is set, to make a
 * file longer fails with the error of that number. Where STATFS is set, statvfs
 * says its three numbers, blocks of 4,096 bytes in all, free and available;
 * then RESERVE is what counts as used beside the files (link with
 * --wrap=truncate and
 * --wrap=statvfs).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cuts/files.h"
#include "diag.h"

int __real_truncate(const char *path, off_t size);
int __wrap_truncate(const char *path, off_t size);

int __wrap_truncate(const char *path, off_t size)
{
	const char *number = getenv("NO_LONGER");
	struct stat st;

	if (!number || stat(path, &st) || size <= st.st_size)
		return __real_truncate(path, size);
	errno = atoi(number);
	/* as a file system may: some of it found room */
	if (errno == ENOSPC && __real_truncate(path, st.st_size + 1))
		return -1;
	errno = atoi(number);
	return -1;
}

int __real_statvfs(const char *path, struct statvfs *room);
int __wrap_statvfs(const char *path, struct statvfs *room);

int __wrap_statvfs(const char *path, struct statvfs *room)
{
	const char *numbers = getenv("STATFS");

	if (!numbers)
		return __real_statvfs(path, room);
	room->f_frsize = 4096;
	return sscanf(numbers, "%lu %lu %lu", &room->f_blocks, &room->f_bfree,
		      &room->f_bavail) == 3
		       ? 0
		       : -1;
}

static void read_marks(struct load *load)
{
	unsigned int operations, mark;

	while (scanf("%u %u", &operations, &mark) == 2) {
		if (mark % 2)
			load->op[mark / 2].returned = operations;
		else
			load->op[mark / 2].begun = operations;
	}
}

static void look_again(const struct load *load, const char *command,
		       struct finding *finding, uint64_t *looked)
{
	if (command)
		extend_files(load, false, finding);
	if (command && system(command))
		exit(EXIT_RUN_FAILED);
	cuts_files_look(load, finding, looked);
}

int main(int argc, char **argv)
{
	struct finding finding = {0};
	struct load load = {0};
	uint64_t judged, looked;
	int i;

	if (argc < 4 || cuts_files_read(argv[1], 0, &load))
		return EXIT_USAGE;
	if (getenv("RESERVE"))
		cuts_statfs_reserve = strtoull(getenv("RESERVE"), NULL, 10);
	read_marks(&load);
	extend_none(&load);
	cuts_files_judge(&load, (uint32_t)strtoul(argv[2], NULL, 10),
			 atoi(argv[3]), &finding, &judged);
	look_again(&load, argv[4], &finding, &looked);
	printf("%s\n%s\n", cuts_verdict_names[finding.verdict], finding.what);
	for (i = 0; i < load.names; i++)
		if (extend_is_longer(i))
			printf("%s\n", load.name[i].path);
	cuts_files_free(&load);
	return judged == looked ? EXIT_OK : EXIT_RUN_FAILED;
}
