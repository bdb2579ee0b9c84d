/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle's own: names are judged in judge.c, what files hold in content.c.
 */
#ifndef LIB_CUTS_JUDGE_H
#define LIB_CUTS_JUDGE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "cuts/cuts.h"

/* A moment: the last operation that had begun, and the cut. */
struct moment {
	const struct load *load;
	uint32_t operations;
	int last;
	bool nothing_kept; /* ask for what ever was, whatever was synced */
};

/* What of an inode is to be kept. */
enum part { PART_INODE, PART_CONTENT, PART_METADATA };

/* keeps.c: whether an operation is an fsync of a folder; NONE: the root. */
bool keeps_folder(const struct load *load, const struct op *op, int folder);

/* The last operation that had returned at the cut and kept what is asked for: a
 * name, by its folder's, or a part of an inode. -1: none. */
int kept(const struct moment *m, int folder, int inode, enum part part);
int kept_name(const struct moment *m, const struct name *name);

/* What a name may stand for: from what was kept on. Returns the first event of
 * these; those before it are over. */
int first_event(const struct name *name, int from);
bool is_absence_allowed(const struct moment *m, const struct name *name,
			int from);

/* What was read of a file. */
#define READ_BYTES_MAX (FILE_BYTES_MAX + EXTENDED_BYTES + 1)
extern uint8_t cuts_data[READ_BYTES_MAX];

/* sight.c: what is under a name, and how it is told from others. */
enum sight {
	SIGHT_NONE,
	SIGHT_FOLDER,
	SIGHT_FILE,
	SIGHT_SYMLINK,
	SIGHT_WHITEOUT,
	SIGHT_UNREADABLE,
};

/* A digest's begin, before anything was seen. */
#define NOTHING_SEEN 0xcbf29ce484222325u
void sight_digest(uint64_t *to, const void *from, size_t bytes);

/* sight.c: what is under a name. A file's bytes are in cuts_data then, without
 * those by which it was made longer, and so is a symbolic link's target. Its
 * metadata are kept for judge_metadata(), if the load sets any. */
enum sight sight_name(const struct load *load, int number, struct stat *st,
		      size_t *had, struct finding *finding, uint64_t *all);

/* sight.c: every name in a folder is one of the load's. */
void judge_names(const struct load *load, const char *folder,
		 struct finding *finding);

/* metadata.c: read those of an open file or folder, into a digest too. */
void metadata_read(int fd, const struct stat *st, bool longer, uint64_t *all);

/* Whether the metadata that were read are what an inode may have, if those
 * after an operation were kept. NULL, or what is wrong. */
const char *judge_metadata(const struct moment *m, int inode, int from);

/* statfs.c: what statfs(2) says; bytes: of the files that are there. */
void judge_statfs(uint64_t bytes, struct finding *finding);

/* twice.c: a folder is under two names: what is lost if the old one is removed,
 * as anybody would. */
void judge_two_folders(const struct load *load, const struct op *op,
		       struct finding *finding);

/* extend.c: a file is at a name, with so many bytes: that is made longer. */
void extend_seen(int name, ino_t inode, size_t bytes);

/* extend.c: of so many bytes that were read of a name's file those that it had
 * before it was made longer; the others must be 0. */
size_t extended_had(const struct load *load, int name, size_t had,
		    struct finding *finding);

/* Whether the bytes in data are what an inode may have, if what it was after an
 * operation was kept. NULL, or what is wrong. */
const char *judge_content(const struct moment *m, int inode, int from,
			  size_t had);

#endif
