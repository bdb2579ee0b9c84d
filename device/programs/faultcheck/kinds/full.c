// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "../faults.h"

static int fill_all(const struct request *request)
{
	return filler_fill(&request->subject);
}

static int free_steps(const struct point *p)
{
	return filler_free(p->k);
}

static int free_all(struct point *p)
{
	p->struck = p->struck || p->failed;
	if (filler_remove())
		cuts_found(&p->finding, NOT_AFTER, "no file can be deleted: %s",
			   strerror(errno));
	return 0;
}

const struct fault_kind fault_kind_full = {
	.name = "full",
	.what = "K files of 4 KiB are deleted of a file system that is full",
	.order = 6,
	.steps = FREE_MOST,
	.prepare = fill_all,
	.begin = free_steps,
	.finish = free_all,
};
