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
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "cuts/files.h"
#include "cuts/judge.h"

struct seen {
	bool there;
	bool folder;
	ino_t number;

	/* The first of the events that it may stand for, and which of them fit
	 * what it holds: a bit each. Files may be equal. */
	int first;
	uint64_t fits;
};

#define EVENTS_TOLD  64
#define NOTHING_SEEN 0xcbf29ce484222325u

/* One differing word makes another digest: each step can be undone. */
static void digest(uint64_t *to, const void *from, size_t bytes)
{
	const uint8_t *byte = from;
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		*to = (*to ^ word) * 0x9e3779b97f4a7c15u;
		*to ^= *to >> 32;
		byte += sizeof(word);
	}
	while (bytes--)
		*to = (*to ^ *byte++) * 0x100000001b3u;
}

/* Names at the root have no parent; an fsync of the root has the name "". */
static bool keeps_folder(const struct load *load, const struct op *op,
			 int folder)
{
	return op->what == OP_FSYNCDIR &&
	       (folder == NONE ? !*load->name[op->name].path
			       : op->name == folder);
}

/* The last operation that had returned at the cut and kept what is asked for:
 * a name, by its folder's, or an inode. An O_SYNC write keeps the inode, but of
 * its content only what it wrote: whole asks for all of it. */
static int kept(const struct moment *m, int folder, int inode, bool whole)
{
	const struct op *op;
	int i;

	for (i = m->last; i >= 0; i--) {
		op = &m->load->op[i];
		if (op->returned > m->operations)
			continue;
		if (op->what == OP_SYNC || op->what == OP_READONLY)
			break;
		if (inode != NONE && op->inode == inode &&
		    (op->what == OP_FSYNC || (op->what == OP_SWRITE && !whole)))
			break;
		if (inode == NONE && keeps_folder(m->load, op, folder))
			break;
	}
	return i;
}

/* -1: it cannot be read. */
static ssize_t read_file(int fd, size_t bytes)
{
	size_t have = 0;
	ssize_t got;

	do {
		got = read(fd, cuts_data + have, sizeof(cuts_data) - have);
		have += got > 0 ? (size_t)got : 0;
	} while (got > 0 && have != bytes);
	return got < 0 ? -1 : (ssize_t)have;
}

/* What a name may stand for: from what was kept on. Returns the first event of
 * these; those before it are over. */
static int first_event(const struct name *name, int from)
{
	int i = 0;

	while (i + 1 < name->events && name->event[i + 1].op <= from)
		i++;
	return i;
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
	if (!may_be_absent(m, name, from))
		cuts_found(finding, LOST, "%s is not there", name->path);
}

/* The file in data is one of those that the name may stand for. */
static void judge_file(const struct moment *m, const struct name *name,
		       size_t had, struct seen *seen, struct finding *finding)
{
	const struct moment any = {
		.load = m->load, .last = m->last, .nothing_kept = true};
	const char *why, *wrong = NULL;
	bool older = false, some = false;
	int i, inode;

	for (i = seen->first; i < name->events; i++) {
		inode = name->event[i].inode;
		if (name->event[i].op > m->last)
			break;
		if (inode == NONE || m->load->inode[inode].folder)
			continue;
		some = true;
		why = judge_content(m, inode, kept(m, NONE, inode, true), had);
		if (!why) {
			fits(seen, i);
			continue;
		}
		wrong = why;
		older = older || !judge_content(&any, inode, -1, had);
	}
	if (seen->fits)
		return;
	if (!some)
		cuts_found(finding, RESURRECTED, "%s is there again",
			   name->path);
	else
		cuts_found(finding, older ? LOST : WRONG, "%s: %s", name->path,
			   wrong);
}

static void judge_folder(const struct moment *m, const struct name *name,
			 struct seen *seen, struct finding *finding)
{
	int i, inode;

	for (i = seen->first; i < name->events; i++) {
		inode = name->event[i].inode;
		if (name->event[i].op > m->last || inode == NONE)
			continue;
		if (m->load->inode[inode].folder)
			fits(seen, i);
	}
	if (seen->fits)
		return;
	cuts_found(finding, RESURRECTED, "the folder %s is there again",
		   name->path);
}

enum sight { SIGHT_NONE, SIGHT_FOLDER, SIGHT_FILE, SIGHT_UNREADABLE };

static enum sight unreadable(const struct name *name, struct finding *finding)
{
	cuts_found(finding, UNREADABLE, "%s: %s", name->path, strerror(errno));
	return SIGHT_UNREADABLE;
}

/* What is under an open name. */
static enum sight look_in(int fd, const struct load *load, int number,
			  struct stat *st, size_t *had, struct finding *finding,
			  uint64_t *all)
{
	const struct name *name = &load->name[number];
	uint64_t is_folder;
	ssize_t got;

	if (fstat(fd, st))
		return unreadable(name, finding);
	is_folder = S_ISDIR(st->st_mode);
	digest(all, &is_folder, sizeof(is_folder));
	if (is_folder)
		return SIGHT_FOLDER;
	got = read_file(fd, (size_t)st->st_size);
	if (got < 0)
		return unreadable(name, finding);
	*had = extended_had(load, number, (size_t)got, finding);
	digest(all, had, sizeof(*had));
	digest(all, cuts_data, *had);
	return SIGHT_FILE;
}

/* What is under a name; a file's bytes are in data then, without those by which
 * it was made longer. The path is walked once: that is a good part of reading a
 * small file. */
static enum sight look_at(const struct load *load, int number, struct stat *st,
			  size_t *had, struct finding *finding, uint64_t *all)
{
	const struct name *name = &load->name[number];
	char path[PATH_MAX];
	enum sight sight;
	int fd;

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", name->path);
	digest(all, name->path, strlen(name->path));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? SIGHT_NONE
			       : unreadable(name, finding);
	sight = look_in(fd, load, number, st, had, finding, all);
	close(fd);
	return sight;
}

static void judge_name(const struct moment *m, int number, struct seen *seen,
		       struct finding *finding, uint64_t *all)
{
	const struct name *name = &m->load->name[number];
	int from = kept(m, name->parent, NONE, true);
	enum sight sight;
	struct stat st;
	size_t had;

	*seen = (struct seen){0};
	if (!name->events)
		return;
	seen->first = first_event(name, from);
	sight = look_at(m->load, number, &st, &had, finding, all);
	if (sight == SIGHT_NONE)
		judge_absent(m, name, from, finding);
	seen->there = sight == SIGHT_FOLDER || sight == SIGHT_FILE;
	if (!seen->there)
		return;
	seen->folder = sight == SIGHT_FOLDER;
	seen->number = st.st_ino;
	if (seen->folder) {
		judge_folder(m, name, seen, finding);
		return;
	}
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
	is = kept_by_folder(m, inode, kept(m, NONE, inode, false));
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

static void judge_rename(const struct moment *m, int number,
			 const struct seen *seen, struct finding *finding)
{
	const struct op *op = &m->load->op[number];

	if (op->what != OP_RENAME || m->load->inode[op->inode].linked)
		return;
	if (seen[op->name].there && seen[op->to].there &&
	    seen[op->name].number == seen[op->to].number &&
	    is_inode(m, op->name, &seen[op->name], op->inode) &&
	    is_inode(m, op->to, &seen[op->to], op->inode))
		cuts_found(finding, RENAME_TWICE, "%s and %s are one file",
			   m->load->name[op->name].path,
			   m->load->name[op->to].path);
}

static bool known(const struct load *load, const char *path)
{
	int i;

	for (i = 0; i < load->names; i++)
		if (!strcmp(load->name[i].path, path))
			return true;
	return !strcmp(path, "lost+found") || !strcmp(path, CHECKS_OWN);
}

/* Every name in a folder is one of the load's. */
static void judge_names(const struct load *load, const char *folder,
			struct finding *finding)
{
	char path[PATH_MAX], below[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", folder);
	dir = opendir(path);
	if (!dir) {
		cuts_found(finding, UNREADABLE, "folder %s: %s", folder,
			   strerror(errno));
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s%s%s", folder,
			 *folder ? "/" : "", entry->d_name);
		if (!known(load, below))
			cuts_found(finding, UNKNOWN, "%s", below);
	}
	closedir(dir);
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
	for (i = load->base; i <= m.last; i++)
		judge_rename(&m, i, seen, finding);
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
		    look_at(load, i, &st, &had, finding, seen) == SIGHT_FOLDER)
			judge_names(load, load->name[i].path, finding);
}
