// SPDX-License-Identifier: GPL-2.0-or-later
/* A user's own program: reads a file of the board to its end, in pieces of 4
 * KiB, and writes and syncs what it read. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char piece[4096];
	ssize_t got = 0;
	int from, to;

	if (argc != 3)
		return 2;
	from = open(argv[1], O_RDONLY);
	to = open(argv[2], O_WRONLY | O_CREAT | O_EXCL, 0600);
	while (from >= 0 && to >= 0 &&
	       (got = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)got) != got)
			return 1;
	return from < 0 || to < 0 || got < 0 || fsync(to);
}
