/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A path that grows and shrinks by a name, within what the kernel takes. */
#ifndef FILETREE_PATH_H
#define FILETREE_PATH_H

#include <limits.h>
#include <stddef.h>

struct path {
	char text[PATH_MAX]; /* the ending NUL counts among the kernel's 4096 */
	size_t length;
	size_t top; /* length of the part that was given at first */
};

/* Begin at @folder; blanks of its end are its own, slashes there are not. */
int path_open(struct path *path, const char *folder);

/* Add "/@name"; -1 after a message if that is too long. */
int path_push(struct path *path, const char *name);

/* Back to an earlier length. */
static inline void path_cut(struct path *path, size_t length)
{
	path->text[length] = '\0';
	path->length = length;
}

/* The part below the top: "" for the top itself. */
static inline const char *path_below(const struct path *path)
{
	return path->text + path->top + (path->length > path->top);
}

#endif
