// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a load was kept at a cut: names by their folders, files by
 * themselves, and all by a sync. The rules are at the head of judge.c. */
#include <string.h>

#include "cuts/judge.h"

/* Names at the root have no parent; an fsync of the root has the name "". */
bool keeps_folder(const struct load *load, const struct op *op, int folder)
{
	return op->what == OP_FSYNCDIR &&
	       (folder == NONE ? !*load->name[op->name].path
			       : op->name == folder);
}

/* Whether an operation on an inode keeps that part of it: an O_SYNC write keeps
 * of its content only what it wrote, fdatasync no metadata. */
static bool keeps_part(const struct op *op, enum part part)
{
	switch (op->what) {
	case OP_FSYNC:
		return true;
	case OP_FSYNCDIR:
		return part == PART_METADATA;
	case OP_FDATASYNC:
		return part != PART_METADATA;
	case OP_SWRITE:
		return part == PART_INODE;
	default:
		return false;
	}
}

/* The last operation that had returned at the cut and kept what is asked for:
 * a name, by its folder's, or a part of an inode. */
int kept(const struct moment *m, int folder, int inode, enum part part)
{
	const struct op *op;
	int i;

	for (i = m->last; i >= 0; i--) {
		op = &m->load->op[i];
		if (op->returned > m->operations)
			continue;
		if (op->what == OP_SYNC || op->what == OP_READONLY)
			break;
		if (inode != NONE && op->inode == inode && keeps_part(op, part))
			break;
		if (inode == NONE && keeps_folder(m->load, op, folder))
			break;
	}
	return i;
}

/* What a name may stand for: from what was kept on. Returns the first event of
 * these; those before it are over. */
int first_event(const struct name *name, int from)
{
	int i = 0;

	while (i + 1 < name->events && name->event[i + 1].op <= from)
		i++;
	return i;
}

/* Whether a name stands for one folder and then for another, from what was kept
 * on. */
static bool is_two_folders(const struct moment *m, const struct name *name,
			   int from)
{
	int i, folder = NONE;

	for (i = first_event(name, from);
	     i < name->events && name->event[i].op <= m->last; i++) {
		if (name->event[i].inode == NONE)
			continue;
		if (folder != NONE && folder != name->event[i].inode)
			return true;
		folder = name->event[i].inode;
	}
	return false;
}

/* The last operation that had returned at the cut and kept a name. An fsync of
 * its folder is none where that may be another folder still. */
int kept_name(const struct moment *m, const struct name *name)
{
	int from = kept(m, name->parent, NONE, PART_CONTENT), above;

	if (name->parent == NONE)
		return from;
	above = kept_name(m, &m->load->name[name->parent]);
	return above < from && is_two_folders(m, &m->load->name[name->parent],
					      above)
		       ? above
		       : from;
}

static bool may_be_absent(const struct moment *m, const struct name *name,
			  int from)
{
	int i = first_event(name, from);

	if (name->event[i].op > from)
		return true;
	for (; i < name->events && name->event[i].op <= m->last; i++)
		if (name->event[i].inode == NONE)
			return true;
	return false;
}

/* Whether a folder above a name may be absent, and so the name: a folder that
 * is renamed and then synced may have its old name. */
static bool may_lack_folder(const struct moment *m, const struct name *name)
{
	const struct name *folder;

	if (name->parent == NONE)
		return false;
	folder = &m->load->name[name->parent];
	return may_be_absent(m, folder, kept_name(m, folder)) ||
	       may_lack_folder(m, folder);
}

bool is_absence_allowed(const struct moment *m, const struct name *name,
			int from)
{
	return may_be_absent(m, name, from) || may_lack_folder(m, name);
}
