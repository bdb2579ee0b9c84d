// SPDX-License-Identifier: GPL-2.0-or-later
/* A tree as it is drawn; see tree.h. */
#include <stdio.h>

#include "diag.h"
#include "stop.h"
#include "tree.h"

#define NAME_BYTES 24 /* a letter, up to 20 digits, a NUL */

struct growth {
	struct tree *tree;
	struct grower *grower;
	uint64_t random; /* state of the stream */
};

static int push(struct growth *growth, char letter, uint64_t digits,
		uint64_t number)
{
	char name[NAME_BYTES];
	struct tally *tally = &growth->grower->tally;

	if (tally->folders + tally->files >= TREE_MOST)
		return fail("the tree has over %u folders and files",
			    TREE_MOST);
	if (stop_wanted())
		return -1;
	snprintf(name, sizeof(name), "%c%0*llu", letter, (int)digits,
		 (unsigned long long)number);
	return path_push(&growth->grower->path, name);
}

static int grow_files(struct growth *growth)
{
	struct grower *grower = growth->grower;
	size_t length = grower->path.length;
	uint64_t count = draw_next(&growth->tree->files, &growth->random);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t size = draw_next(&growth->tree->size, &growth->random);
		int error = push(growth, growth->tree->letter,
				 growth->tree->digits, i) ||
			    grower->file(grower->context, grower, size);

		path_cut(&grower->path, length);
		if (error)
			return -1;
		moments_add(&grower->tally.size_each, size);
	}
	moments_add(&grower->tally.files_each, count);
	return 0;
}

static int grow_folder(struct growth *growth, uint64_t depth)
{
	struct grower *grower = growth->grower;
	size_t length = grower->path.length;
	uint64_t count;

	if (grower->folder(grower->context, grower, depth) ||
	    grow_files(growth))
		return -1;
	if (depth == growth->tree->depth)
		return 0;
	count = draw_next(&growth->tree->dirs, &growth->random);
	moments_add(&grower->tally.dirs_each, count);
	for (uint64_t i = 0; i < count; i++) {
		int error = push(growth, 'd', 2, i) ||
			    grow_folder(growth, depth + 1);

		path_cut(&grower->path, length);
		if (error)
			return -1;
	}
	return 0;
}

int tree_grow(struct tree *tree, struct grower *grower)
{
	struct growth growth = {tree, grower, tree->seed};

	draw_reset(&tree->dirs);
	draw_reset(&tree->files);
	draw_reset(&tree->size);
	return grow_folder(&growth, 1);
}
