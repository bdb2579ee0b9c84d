// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cutcheck: cuts the power at each flash operation of loads, and checks what is
 * there then.
 *
 * Each load of a file is recorded once by the chip's journal (module powercut):
 * mount, operations, unmount. Then for each operation and each variant of
 * tearing it, the chip is brought to that state; the file system is mounted and
 * judged by what sync and fsync promised (lib/cuts/judge.c); a file is written
 * and synced, and all files are made longer (lib/cuts/extend.c); the file
 * system is mounted again and must show the same, that file, and zeros behind
 * the old ends. At one of eight points the power goes once more when that
 * file's sync has returned, and a third mount must show it. One JSON line a
 * load. The board is not booted in between.
 *
 * Needs root, and a file system that has been made and mounted once. Before
 * each point its name goes to the console, so that it is known if the kernel
 * dies.
 */
#include "cuts/campaign.h"

int main(int argc, char **argv)
{
	(void)argc;
	return cuts_main(argv,
			 "Cuts the power at each flash operation of loads.",
			 &cuts_files, cuts_points);
}
