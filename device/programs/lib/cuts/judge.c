// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The oracle: what may lie on flash after a cut.
 *
 * A name stands for what it stood for when it was last synced (by sync, or by
 * fsync of its folder), or for what any later operation made of it. A file that
 * was synced (by sync, by fsync of it, by an O_SYNC write), or that had a name
 * in a folder when that was, and has had a name ever since is there under some
 * name: so is one that was renamed since. A file's bytes are each those of the
 * last sync or of a later operation, and so is its size; an O_SYNC write is a
 * sync of the bytes that it wrote, and of no others; where a file was
 * longer or shorter meanwhile, a byte may also be 0. What counts as synced had
 * returned before the cut; what had begun may have happened in part.
 */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "cuts/files.h"
#include "cuts/judge.h"

struct seen {
	bool there;
	bool folder;
	ino_t number;
	nlink_t links;
	uint64_t bytes; /* of a file */

	/* The first of the events that it may stand for, and which of them fit
	 * what it holds: a bit each. Files may be equal. */
	int first;
	uint64_t fits;
};

#define EVENTS_TOLD 64
#define PAGE	    4096u
static void fits(struct seen *seen, int event)
{
	int bit = event - seen->first;

	seen->fits |= 1ull << (bit < EVENTS_TOLD ? bit : EVENTS_TOLD - 1);
}

/* Whether what the name holds may be this inode. */
static bool is_inode(const struct moment *m, int number,
		     const struct seen *seen, int inode)
{
	const struct name *name = &m->load->name[number];
	int i, bit;

	for (i = seen->first; seen->fits && i < name->events; i++) {
		bit = i - seen->first;
		bit = bit < EVENTS_TOLD ? bit : EVENTS_TOLD - 1;
		if (name->event[i].inode == inode && seen->fits >> bit & 1)
			return true;
	}
	return false;
}

static void judge_absent(const struct moment *m, const struct name *name,
			 int from, struct finding *finding)
{
	if (!is_absence_allowed(m, name, from))
		cuts_found(finding, LOST, "%s is not there", name->path);
}

/* Metadata of the inodes that a name may stand for: whether one fits, and what
 * is wrong with the others. */
struct odd {
	bool right;
	const char *why;
};

static void judge_inode_metadata(const struct moment *m, int inode,
				 struct odd *odd)
{
	const char *why = NULL;

	if (m->load->inode[inode].sets)
		why = judge_metadata(m, inode,
				     kept(m, NONE, inode, PART_METADATA));
	odd->right = odd->right || !why;
	odd->why = why ? why : odd->why;
}

static void found_odd(const struct name *name, const struct odd *odd,
		      struct finding *finding)
{
	if (!odd->right)
		cuts_found(finding, METADATA, "%s: %s", name->path, odd->why);
}

/* The file in data is one of those that the name may stand for. */
static void judge_file(const struct moment *m, const struct name *name,
		       size_t had, struct seen *seen, struct finding *finding)
{
	const struct moment any = {
		.load = m->load, .last = m->last, .nothing_kept = true};
	const char *why, *wrong = NULL;
	struct odd odd = {0};
	bool older = false, some = false;
	int i, inode;

	for (i = seen->first; i < name->events; i++) {
		inode = name->event[i].inode;
		if (name->event[i].op > m->last)
			break;
		if (inode == NONE || m->load->inode[inode].sort != A_FILE)
			continue;
		some = true;
		why = judge_content(m, inode,
				    kept(m, NONE, inode, PART_CONTENT), had);
		if (!why) {
			fits(seen, i);
			judge_inode_metadata(m, inode, &odd);
			continue;
		}
		wrong = why;
		older = older || !judge_content(&any, inode, -1, had);
	}
	if (seen->fits) {
		found_odd(name, &odd, finding);
		return;
	}
	if (!some)
		cuts_found(finding, RESURRECTED, "%s is there again",
			   name->path);
	else
		cuts_found(finding, older ? LOST : WRONG, "%s: %s", name->path,
			   wrong);
}

/* Whether the letters in data are those of a target. */
static bool is_target(const struct load *load, int inode, size_t had)
{
	int i;

	for (i = 0; i < load->ops; i++)
		if (load->op[i].what == OP_SYMLINK &&
		    load->op[i].inode == inode)
			return had == load->op[i].bytes &&
			       !memcmp(cuts_data, cuts_load_bytes(load, i),
				       had);
	return false;
}

/* A folder, a symbolic link or a whiteout: of them nothing is there in part. */
static void judge_whole(const struct moment *m, const struct name *name,
			enum sort sort, size_t had, struct seen *seen,
			struct finding *finding)
{
	static const char *const words[] = {"file", "folder", "symbolic link",
					    "whiteout"};
	struct odd odd = {0};
	bool some = false;
	int i, inode;

	for (i = seen->first; i < name->events; i++) {
		inode = name->event[i].inode;
		if (name->event[i].op > m->last || inode == NONE ||
		    m->load->inode[inode].sort != sort)
			continue;
		some = true;
		if (sort == A_SYMLINK && !is_target(m->load, inode, had))
			continue;
		fits(seen, i);
		judge_inode_metadata(m, inode, &odd);
	}
	if (seen->fits)
		found_odd(name, &odd, finding);
	else if (some)
		cuts_found(finding, WRONG, "%s leads elsewhere", name->path);
	else
		cuts_found(finding, RESURRECTED, "the %s %s is there again",
			   words[sort], name->path);
}

static enum sort sort_seen(enum sight sight)
{
	return sight == SIGHT_FOLDER	? A_FOLDER
	       : sight == SIGHT_SYMLINK ? A_SYMLINK
					: A_WHITEOUT;
}

static void judge_name(const struct moment *m, int number, struct seen *seen,
		       struct finding *finding, uint64_t *all)
{
	const struct name *name = &m->load->name[number];
	int from = kept_name(m, name);
	enum sight sight;
	struct stat st;
	size_t had;

	*seen = (struct seen){0};
	if (!name->events)
		return;
	seen->first = first_event(name, from);
	sight = sight_name(m->load, number, &st, &had, finding, all);
	if (sight == SIGHT_NONE)
		judge_absent(m, name, from, finding);
	seen->there = sight != SIGHT_NONE && sight != SIGHT_UNREADABLE;
	if (!seen->there)
		return;
	seen->folder = sight == SIGHT_FOLDER;
	seen->number = st.st_ino;
	seen->links = st.st_nlink;
	if (sight != SIGHT_FILE) {
		judge_whole(m, name, sort_seen(sight), had, seen, finding);
		return;
	}
	seen->bytes = had;
	judge_file(m, name, had, seen, finding);
	extend_seen(number, st.st_ino, had);
}

/* The last fsync of a folder that had returned, in which the inode had a name
 * then; that, or what came before. */
static int kept_by_folder(const struct moment *m, int inode, int before)
{
	const struct name *name;
	const struct op *op;
	int i, n, at;

	for (i = m->last; i > before; i--) {
		op = &m->load->op[i];
		if (op->what != OP_FSYNCDIR || op->returned > m->operations)
			continue;
		for (n = 0; n < m->load->names; n++) {
			name = &m->load->name[n];
			if (!name->events ||
			    !keeps_folder(m->load, op, name->parent))
				continue;
			at = first_event(name, i);
			if (name->event[at].inode == inode &&
			    name->event[at].op <= i)
				return i;
		}
	}
	return before;
}

/* A file that was kept under some name, and has had one ever since, has one. */
static void judge_inode(const struct moment *m, int inode,
			const struct seen *seen, struct finding *finding)
{
	const struct name *was = NULL, *name;
	int n, at, is;

	if (m->load->inode[inode].gone <= m->last)
		return;
	is = kept_by_folder(m, inode, kept(m, NONE, inode, PART_INODE));
	if (is < 0)
		return;
	for (n = 0; n < m->load->names; n++) {
		name = &m->load->name[n];
		if (!name->events)
			continue;
		if (is_inode(m, n, &seen[n], inode))
			return;
		at = first_event(name, is);
		if (name->event[at].inode == inode && name->event[at].op <= is)
			was = name;
	}
	if (was)
		cuts_found(finding, LOST, "what was %s has no name", was->path);
}

static bool renames(const struct op *op)
{
	return op->what == OP_RENAME || op->what == OP_NOREPLACE ||
	       op->what == OP_WHITEOUT;
}

static void judge_rename(const struct moment *m, int number,
			 const struct seen *seen, struct finding *finding)
{
	const struct op *op = &m->load->op[number];

	if (!renames(op) || m->load->inode[op->inode].linked)
		return;
	if (!seen[op->name].there || !seen[op->to].there ||
	    seen[op->name].number != seen[op->to].number ||
	    !is_inode(m, op->name, &seen[op->name], op->inode) ||
	    !is_inode(m, op->to, &seen[op->to], op->inode))
		return;
	if (m->load->inode[op->inode].sort == A_FOLDER)
		judge_two_folders(m->load, op, finding);
	else
		cuts_found(finding, RENAME_TWICE, "%s and %s are one file",
			   m->load->name[op->name].path,
			   m->load->name[op->to].path);
}

/* A file says that it has as many names as are there. FAT has one for each. */
static void judge_links(const struct load *load, int number,
			const struct seen *seen, struct finding *finding)
{
	nlink_t names = 0;
	int i;

	if (!seen[number].there || seen[number].folder)
		return;
	for (i = 0; i < load->names; i++)
		names += seen[i].there && !seen[i].folder &&
			 seen[i].number == seen[number].number;
	if (names != seen[number].links)
		cuts_found(finding, METADATA, "%s: it says %u links and has %u",
			   load->name[number].path,
			   (unsigned int)seen[number].links,
			   (unsigned int)names);
}

/* Of all files, each in whole pages. */
static uint64_t count_bytes(const struct load *load, const struct seen *seen)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < load->names; i++)
		bytes += seen[i].there
				 ? (seen[i].bytes + PAGE - 1) / PAGE * PAGE
				 : 0;
	return bytes;
}

void cuts_files_judge(const struct load *load, uint32_t operations,
		      bool in_next, struct finding *finding, uint64_t *seen_all)
{
	struct moment m = {.load = load, .operations = operations};
	struct seen *seen = allocate((unsigned)load->names + 1, sizeof(*seen),
				     "what was seen");
	int i;

	/* without a flash operation it may have begun and returned at the cut
	 */
	for (i = 0; i < load->ops; i++)
		if (i < load->base ||
		    load->op[i].begun < operations + in_next ||
		    load->op[i].returned <= operations)
			m.last = i;
	*seen_all = NOTHING_SEEN;
	judge_names(load, "", finding);
	for (i = 0; i < load->names; i++) {
		judge_name(&m, i, &seen[i], finding, seen_all);
		if (seen[i].there && seen[i].folder)
			judge_names(load, load->name[i].path, finding);
	}
	for (i = 0; i < load->inodes; i++)
		judge_inode(&m, i, seen, finding);
	/* before its proof removes what is there */
	if (load->statfs)
		judge_statfs(count_bytes(load, seen), finding);
	for (i = load->base; i <= m.last; i++)
		judge_rename(&m, i, seen, finding);
	for (i = 0; i < load->names; i++)
		judge_links(load, i, seen, finding);
	free(seen);
}

void cuts_files_look(const struct load *load, struct finding *finding,
		     uint64_t *seen)
{
	struct stat st;
	size_t had;
	int i;

	*seen = NOTHING_SEEN;
	judge_names(load, "", finding);
	for (i = 0; i < load->names; i++)
		if (load->name[i].events &&
		    sight_name(load, i, &st, &had, finding, seen) ==
			    SIGHT_FOLDER)
			judge_names(load, load->name[i].path, finding);
}
