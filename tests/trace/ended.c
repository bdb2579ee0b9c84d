// SPDX-License-Identifier: GPL-2.0-or-later
/* A user's own program: writes a file where it stands, reads it again, prints
 * a line on each stream, and ends as its argument says: with that exit status,
 * by a signal, or never. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char back[6] = "";
	int file = open("file", O_RDWR | O_CREAT, 0644);

	if (argc != 2 || write(file, "hello", 5) != 5 || fsync(file) ||
	    pread(file, back, 5, 0) != 5)
		return 99;
	printf("%s \x01\xff\n", back);
	fprintf(stderr, "ends %s\n", argv[1]);
	fflush(stdout);
	if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	while (!strcmp(argv[1], "never"))
		pause();
	return atoi(argv[1]);
}
