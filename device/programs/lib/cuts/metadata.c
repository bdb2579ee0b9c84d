// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metadata of a file or folder: mode, owner, time of the last change, extended
 * attributes. Each is that of the last fsync or sync, or of a later operation.
 * What the load never set may be anything, but for an attribute: that is not
 * there. The time is not judged once the content has changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "cuts/judge.h"

/* What an operation sets, with one for each attribute. */
enum key {
	KEY_MODE,
	KEY_OWNER,
	KEY_TIME,
	KEY_XATTR,
	KEYS = KEY_XATTR + XATTRS
};

static struct {
	mode_t mode;
	uid_t user;
	gid_t group;
	time_t time;
	bool longer; /* its time is that of the check */
	struct value {
		ssize_t bytes; /* -1: errno tells why not */
		int error;
		uint8_t data[VALUE_BYTES];
	} xattr[XATTRS];
} had;

void metadata_read(int fd, const struct stat *st, bool longer, uint64_t *all)
{
	struct value *value;
	char name[16];
	int i;

	had.mode = st->st_mode & 07777;
	had.user = st->st_uid;
	had.group = st->st_gid;
	had.time = st->st_mtime;
	had.longer = longer;
	sight_digest(all, &had.mode, sizeof(had.mode));
	sight_digest(all, &had.user, sizeof(had.user));
	sight_digest(all, &had.group, sizeof(had.group));
	for (i = 0; i < XATTRS; i++) {
		value = &had.xattr[i];
		snprintf(name, sizeof(name), "user.%d", i);
		value->bytes =
			fgetxattr(fd, name, value->data, sizeof(value->data));
		value->error = value->bytes < 0 ? errno : 0;
		sight_digest(all, &value->bytes, sizeof(value->bytes));
		if (value->bytes > 0)
			sight_digest(all, value->data, (size_t)value->bytes);
	}
}

static enum key key_of(const struct op *op)
{
	switch (op->what) {
	case OP_CHMOD:
		return KEY_MODE;
	case OP_CHOWN:
		return KEY_OWNER;
	case OP_SETXATTR:
		return KEY_XATTR + (enum key)op->at;
	case OP_REMOVEXATTR:
		return KEY_XATTR + (enum key)op->bytes;
	default:
		return KEY_TIME;
	}
}

/* Whether no attribute is there; a file system may have none at all. */
static bool is_absent(const struct value *value)
{
	return value->bytes < 0 &&
	       (value->error == ENODATA || value->error == EOPNOTSUPP);
}

/* Whether what was read is what an operation set. */
static bool is_value(const struct load *load, int number)
{
	const struct op *op = &load->op[number];
	const struct value *value;

	switch (op->what) {
	case OP_CHMOD:
		return had.mode == op->bytes;
	case OP_CHOWN:
		return had.user == op->at && had.group == op->bytes;
	case OP_REMOVEXATTR:
		return is_absent(&had.xattr[op->bytes]);
	case OP_SETXATTR:
		value = &had.xattr[op->at];
		return value->bytes == (ssize_t)op->bytes &&
		       !memcmp(value->data, cuts_load_bytes(load, number),
			       op->bytes);
	default:
		return had.time == (time_t)op->bytes;
	}
}

/* Whether its content changed in between: that sets the time too. */
static bool is_changed(const struct inode *node, int after, int last)
{
	int i;

	for (i = 0; i < node->ops; i++)
		if (node->op[i] > after && node->op[i] <= last)
			return true;
	return false;
}

/* Whether a key may have what it has. */
static bool is_right(const struct moment *m, const struct inode *node,
		     enum key key, int from)
{
	int i, first = NONE;
	bool right;

	for (i = 0; i < node->sets && node->set[i] <= from; i++)
		if (key_of(&m->load->op[node->set[i]]) == key)
			first = i;
	if (key == KEY_TIME &&
	    (had.longer || node->sort == A_FOLDER ||
	     is_changed(node, first == NONE ? -1 : node->set[first], m->last)))
		return true;
	if (first == NONE)
		right = key < KEY_XATTR ||
			is_absent(&had.xattr[key - KEY_XATTR]);
	else
		right = is_value(m->load, node->set[first]);
	for (i = first + 1; i < node->sets && node->set[i] <= m->last; i++)
		if (key_of(&m->load->op[node->set[i]]) == key)
			right = right || is_value(m->load, node->set[i]);
	return right;
}

static const char *tell(enum key key)
{
	static char why[80];

	if (key == KEY_MODE)
		snprintf(why, sizeof(why), "its mode is %o",
			 (unsigned int)had.mode);
	else if (key == KEY_OWNER)
		snprintf(why, sizeof(why), "its owner is %u:%u",
			 (unsigned int)had.user, (unsigned int)had.group);
	else if (key == KEY_TIME)
		snprintf(why, sizeof(why), "its time is %lld",
			 (long long)had.time);
	else if (is_absent(&had.xattr[key - KEY_XATTR]))
		snprintf(why, sizeof(why), "attribute %d is not there",
			 (int)(key - KEY_XATTR));
	else
		snprintf(why, sizeof(why), "attribute %d has %zd bytes: %s",
			 (int)(key - KEY_XATTR),
			 had.xattr[key - KEY_XATTR].bytes,
			 had.xattr[key - KEY_XATTR].bytes < 0
				 ? strerror(had.xattr[key - KEY_XATTR].error)
				 : "of another value");
	return why;
}

const char *judge_metadata(const struct moment *m, int inode, int from)
{
	const struct inode *node = &m->load->inode[inode];
	enum key key;

	for (key = KEY_MODE; key < KEYS; key++)
		if (!is_right(m, node, key, from))
			return tell(key);
	return NULL;
}
