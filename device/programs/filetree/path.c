// SPDX-License-Identifier: GPL-2.0-or-later
/* A path; see path.h. */
#include <string.h>

#include "diag.h"
#include "path.h"

#define SHOWN 60 /* characters of a path that is too long */

static int too_long(const char *start)
{
	return fail("a path is longer than %d bytes: '%.*s...'; give a folder "
		    "with a shorter path, or fewer levels",
		    PATH_MAX - 1, SHOWN, start);
}

int path_open(struct path *path, const char *folder)
{
	size_t length = strlen(folder);

	if (!length)
		return fail("DIR is empty");
	while (length > 1 && folder[length - 1] == '/')
		length--;
	if (length >= sizeof(path->text))
		return too_long(folder);
	memcpy(path->text, folder, length);
	path_cut(path, length);
	/* The root's slash is that before a name below it. */
	path->top = length == 1 && *folder == '/' ? 0 : length;
	return 0;
}

int path_push(struct path *path, const char *name)
{
	size_t length = strlen(name);
	size_t at =
		path->length == 1 && path->text[0] == '/' ? 0 : path->length;

	if (at + 1 + length >= sizeof(path->text))
		return too_long(path->text);
	path->text[at] = '/';
	memcpy(path->text + at + 1, name, length + 1);
	path->length = at + 1 + length;
	return 0;
}
