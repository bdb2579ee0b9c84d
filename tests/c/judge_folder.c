// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cutcheck's judge on a folder of this machine, which stands for what a mount
 * after a cut shows: judge_folder LOADS OPERATIONS IN_NEXT < marks
 *
 * The marks are lines as the journal's. Prints the verdict's name, and what was
 * found. The folder is ./mnt.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../target/programs/cutcheck/cutcheck.h"
#include "diag.h"

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

int main(int argc, char **argv)
{
	struct finding finding = {0};
	struct load load = {0};
	uint64_t judged, looked;

	if (argc != 4 || load_read(argv[1], 0, &load))
		return EXIT_USAGE;
	read_marks(&load);
	judge(&load, (uint32_t)atoi(argv[2]), atoi(argv[3]), &finding, &judged);
	printf("%s\n%s\n", verdict_names[finding.verdict], finding.what);
	look(&load, &finding, &looked);
	load_free(&load);
	return judged == looked ? EXIT_OK : EXIT_RUN_FAILED;
}
