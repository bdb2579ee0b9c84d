// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Points of the file system: the operations of its files' mappings, and the
 * folder operations that come before vfs_open(). The command op names the
 * functions of an operation. Without it, those of mappings are taken from a
 * file of the mount that the filter names, whatever the file system is. If
 * there is none, and for folder operations always, they are found by the names
 * that most file systems give them.
 */
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/slab.h>
#include <linux/writeback.h>

#include "compat.h"
#include "vfs.h"

#define CANDIDATES_MAX 6
#define NAME_MAX_BYTES 64

static const struct inode *page_inode(const file_page *page)
{
	return page->mapping ? page->mapping->host : NULL;
}

WANTS(page_0, page_inode(ARG(const file_page *, 0)))
WANTS(page_1, page_inode(ARG(const file_page *, 1)))
WANTS(mapping_0, ARG(const struct address_space *, 0)->host)
WANTS(mapping_1, ARG(const struct address_space *, 1)->host)
WANTS(control, ARG(const struct readahead_control *, 0)->mapping->host)
WANTS(folder_look_up, ARG(const struct inode *, 0))
WANTS(folder_create, ARG(const struct inode *, VFS_HAS_IDMAP))

static void look_page(struct vfs_call *call, const file_page *page)
{
	vfs_call_of(call, page->mapping->host);
	call->record.offset = (u64)page->index << PAGE_SHIFT;
	call->size = PAGE_SIZE;
}

static void look_read_page(struct vfs_call *call, const unsigned long *args)
{
	look_page(call, ARG(const file_page *, 1));
}

static void look_write_page(struct vfs_call *call, const unsigned long *args)
{
	look_page(call, ARG(const file_page *, 0));
}

static void look_write_pages(struct vfs_call *call, const unsigned long *args)
{
	const struct address_space *mapping =
		ARG(const struct address_space *, 0);

	call->record.extra = min_t(
		u64, ARG(struct writeback_control *, 1)->nr_to_write, U32_MAX);
	vfs_call_of(call, mapping->host);
}

static void look_write_range(struct vfs_call *call, const unsigned long *args)
{
	const struct address_space *mapping =
		ARG(const struct address_space *, 1);

	call->record.offset = ARG(loff_t, 2);
	call->size = ARG(unsigned int, 3);
	vfs_call_of(call, mapping->host);
}

static void look_readahead(struct vfs_call *call, const unsigned long *args)
{
	const struct readahead_control *control =
		ARG(const struct readahead_control *, 0);

	call->record.offset = control->_index;
	call->size = control->_nr_pages;
	vfs_call_of(call, control->mapping->host);
}

static void look_folder_look_up(struct vfs_call *call,
				const unsigned long *args)
{
	vfs_call_of(call, ARG(const struct inode *, 0));
}

static void look_folder_create(struct vfs_call *call, const unsigned long *args)
{
	vfs_call_of(call, ARG(const struct inode *, VFS_HAS_IDMAP));
}

#define POINT(kind, who, how) \
	{.type = TRACE_##kind, .wants = wants_##who, .look = look_##how}

struct vfs_point vfs_fs_points[] = {
	POINT(FS_READ_PAGE, page_1, read_page),
	POINT(FS_READAHEAD, control, readahead),
	POINT(FS_WRITE_BEGIN, mapping_1, write_range),
	POINT(FS_WRITE_END, mapping_1, write_range),
	POINT(FS_WRITE_PAGE, page_0, write_page),
	POINT(FS_WRITE_PAGES, mapping_0, write_pages),
	POINT(FS_LOOK_UP, folder_look_up, folder_look_up),
	POINT(FS_CREATE, folder_create, folder_create),
};

const unsigned int vfs_fs_points_count = ARRAY_SIZE(vfs_fs_points);

#define BY_NAME_ONLY SIZE_MAX

/* In the order of the points: the user's name of an operation, its offset, and
 * the suffixes that most file systems add to their own name. */
static const struct operation {
	const char *name;
	size_t at;
	const char *suffixes[3];
} operations[] = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
	{"read_page",
	 offsetof(struct address_space_operations, read_folio),
#else
	{"read_page",
	 offsetof(struct address_space_operations, readpage),
#endif
	 {"_read_folio", "_readpage"}},
	{"readahead",
	 offsetof(struct address_space_operations, readahead),
	 {"_readahead"}},
	{"write_begin",
	 offsetof(struct address_space_operations, write_begin),
	 {"_write_begin"}},
	{"write_end",
	 offsetof(struct address_space_operations, write_end),
	 {"_write_end"}},
	{"write_page",
	 offsetof(struct address_space_operations, writepage),
	 {"_writepage"}},
	{"write_pages",
	 offsetof(struct address_space_operations, writepages),
	 {"_writepages"}},
	{"look_up", BY_NAME_ONLY, {"_lookup"}},
	{"create", BY_NAME_ONLY, {"_create"}},
};

static_assert(ARRAY_SIZE(operations) == ARRAY_SIZE(vfs_fs_points));

/* Names of functions for each operation, by where they are from. given: by the
 * command op. names: the candidates in use, NULL at their end. */
static char given[ARRAY_SIZE(operations)][CANDIDATES_MAX][NAME_MAX_BYTES];
static char by_convention[ARRAY_SIZE(operations)][2][NAME_MAX_BYTES];
static char by_address[ARRAY_SIZE(operations)][KSYM_SYMBOL_LEN];
static const char *names[ARRAY_SIZE(operations)][CANDIDATES_MAX + 1];

static int operation_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(name, operations[i].name))
			return i;
	return -EINVAL;
}

/* "op read_page jffs2_read_folio jffs2_readpage": tried in this order. */
int vfs_fs_command(char *rest)
{
	char parsed[CANDIDATES_MAX][NAME_MAX_BYTES] = {};
	char *word = strsep(&rest, " \t");
	int n = 0, i = operation_find(word);

	if (i < 0)
		return tracers_refuse(i, "vfsmon: op: no operation '%s'", word);
	while (rest && (word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		if (n == CANDIDATES_MAX || strlen(word) >= NAME_MAX_BYTES)
			return tracers_refuse(-EINVAL,
					      "vfsmon: op: at most %d names of "
					      "less than %d bytes",
					      CANDIDATES_MAX, NAME_MAX_BYTES);
		strscpy(parsed[n++], word, NAME_MAX_BYTES);
	}
	if (!n)
		return tracers_refuse(-EINVAL, "vfsmon: op: name functions");
	memcpy(given[i], parsed, sizeof(parsed));
	return 0;
}

static void take_given(unsigned int i)
{
	unsigned int n;

	for (n = 0; n < CANDIDATES_MAX && *given[i][n]; n++)
		names[i][n] = given[i][n];
	names[i][n] = NULL;
}

static void take_convention(unsigned int i, const char *prefix)
{
	unsigned int n;

	for (n = 0; n < 2 && operations[i].suffixes[n]; n++) {
		snprintf(by_convention[i][n], NAME_MAX_BYTES, "%s%s", prefix,
			 operations[i].suffixes[n]);
		names[i][n] = by_convention[i][n];
	}
	names[i][n] = NULL;
}

static void take_address(struct vfs_point *point, unsigned int i,
			 const struct address_space_operations *ops)
{
	unsigned long at = *(unsigned long *)((char *)ops + operations[i].at);

	if (!at) {
		point->why_absent = "the file system has none";
		return;
	}
	sprint_symbol_no_offset(by_address[i], at);
	strreplace(by_address[i], ' ', '\0'); /* cut off the module's name */
	point->probe.address = (void *)at;
	point->probe.name = by_address[i];
}

void vfs_fs_resolve(const struct address_space_operations *ops,
		    const char *prefix)
{
	unsigned int i;

	for (i = 0; i < vfs_fs_points_count; i++) {
		struct vfs_point *point = &vfs_fs_points[i];

		point->candidates = NULL;
		point->probe.address = NULL;
		point->why_absent = NULL;
		if (**given[i])
			take_given(i);
		else if (ops && operations[i].at != BY_NAME_ONLY)
			take_address(point, i, ops);
		else if (prefix)
			take_convention(i, prefix);
		else
			point->why_absent = "no file system is named";
		if (!point->why_absent && !point->probe.address)
			point->candidates = names[i];
	}
}
