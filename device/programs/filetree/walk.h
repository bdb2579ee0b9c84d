/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk through a tree that is there. Of each folder: it is opened, read to
 * its end, and lstat(2) is made of each entry as it comes; then it is closed,
 * its entries are sorted by the length of their names, then by their bytes (so
 * f9999 comes before f10000 whatever the file system's order); what is no
 * folder comes first, then each folder is walked. It is what busybox's ls -R
 * does, but for the names' order.
 */
#ifndef FILETREE_WALK_H
#define FILETREE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "calls.h"
#include "path.h"
#include "tally.h"

struct walk {
	struct calls *calls;
	struct tally tally;
	struct path path; /* of what is being visited */
	bool one_device;  /* a folder of another file system is an error */
	dev_t device;	  /* of the top */
	/* The folder lost+found of the top, which is the file system's own, is
	 * left out. */
	bool spare_lost;
	/* Each NULL by choice; -1 ends the walk. */
	int (*enter)(void *context, struct walk *walk);
	int (*entry)(void *context, struct walk *walk, const char *name,
		     const struct stat *st);
	int (*leave)(void *context, struct walk *walk, bool top);
	void *context;
};

/*
 * Walk through @folder. The context's enter() comes for each folder before its
 * entries, entry() for each entry that is no folder, leave() when all below a
 * folder are done.
 */
int walk_run(struct walk *walk, const char *folder);

#endif
