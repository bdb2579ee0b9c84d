// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel says of itself: a warning, a bug, a hung task. Its log is
 * read after each point, a record a read(2). If some were overwritten by then,
 * that counts as a warning: one may have been among them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cuts/cuts.h"
#include "diag.h"

#define LOG "/dev/kmsg"

static const char *const signs[] = {"WARNING: ",
				    "BUG: ",
				    "UBSAN: ",
				    "INFO: task ",
				    "------------[ cut here",
				    "Busy inodes after unmount"};
static const struct knobs *own;
static int fd = -1;

int kernel_open(const struct knobs *checks)
{
	own = checks;
	fd = open(LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		return fail_errno("open", LOG);
	return 0;
}

static void judge_line(struct finding *finding, const char *said)
{
	int length = (int)strcspn(said, "\n"), w;
	size_t i;

	for (i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strstr(said, signs[i]))
			cuts_found(finding, KERNEL, "%.*s", length, said);
	for (w = 0; w < own->said; w++)
		if (strstr(said, own->says[w]))
			cuts_found(finding, CHECK, "%.*s", length, said);
}

void kernel_judge(struct finding *finding)
{
	char record[2048], *said;
	ssize_t got;

	while ((got = read(fd, record, sizeof(record) - 1)) > 0 ||
	       (got < 0 && errno == EPIPE)) {
		if (got < 0)
			cuts_found(finding, KERNEL,
				   "its log is too long: some of it is lost");
		record[got > 0 ? got : 0] = '\0';
		said = strchr(record, ';');
		if (said)
			judge_line(finding, said + 1);
	}
}
