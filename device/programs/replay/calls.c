// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls of a recorded load, by their words; see calls.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "checked.h"
#include "diag.h"
#include "make.h"

#define CHUNK 65536u

const char *const kind_names[KINDS] = {
	[KIND_OPEN] = "open",
	[KIND_CLOSE] = "close",
	[KIND_READ] = "read",
	[KIND_WRITE] = "write",
	[KIND_WRITE_SYNC] = "write_sync",
	[KIND_SEEK] = "seek",
	[KIND_FSYNC] = "fsync",
	[KIND_SYNC] = "sync",
	[KIND_FLUSH] = "flush",
	[KIND_RENAME] = "rename",
	[KIND_LINK] = "link",
	[KIND_UNLINK] = "unlink",
	[KIND_MKDIR] = "mkdir",
	[KIND_RMDIR] = "rmdir",
	[KIND_RESIZE] = "resize",
	[KIND_STAT] = "stat",
	[KIND_LIST] = "list",
	[KIND_CHANGE] = "change",
	[KIND_ADVISE] = "advise",
	[KIND_FAILED] = "failed",
};

const struct verb calls[] = {
	{"open", "Dpfm", KIND_OPEN, make_open},
	{"close", "d", KIND_CLOSE, make_close},
	{"read", "dl", KIND_READ, make_read},
	{"pread", "dln", KIND_READ, make_pread},
	{"readv", "dl", KIND_READ, make_readv},
	{"preadv", "dln", KIND_READ, make_preadv},
	{"write", "dl", KIND_WRITE, make_write},
	{"pwrite", "dln", KIND_WRITE, make_pwrite},
	{"writev", "dl", KIND_WRITE, make_writev},
	{"pwritev", "dln", KIND_WRITE, make_pwritev},
	{"lseek", "dnw", KIND_SEEK, make_lseek},
	{"fsync", "d", KIND_FSYNC, make_fsync},
	{"fdatasync", "d", KIND_FSYNC, make_fdatasync},
	{"syncfs", "d", KIND_SYNC, make_syncfs},
	{"sync", "", KIND_SYNC, make_sync},
	{"sync_range", "dnnn", KIND_FLUSH, make_sync_range},
	{"rename", "pp", KIND_RENAME, make_rename},
	{"rename_new", "pp", KIND_RENAME, make_rename_new},
	{"exchange", "pp", KIND_RENAME, make_exchange},
	{"link", "pp", KIND_LINK, make_link},
	{"symlink", "tp", KIND_LINK, make_symlink},
	{"unlink", "p", KIND_UNLINK, make_unlink},
	{"rmdir", "p", KIND_RMDIR, make_rmdir},
	{"mkdir", "pm", KIND_MKDIR, make_mkdir},
	{"truncate", "pn", KIND_RESIZE, make_truncate},
	{"ftruncate", "dn", KIND_RESIZE, make_ftruncate},
	{"fallocate", "dnnn", KIND_RESIZE, make_fallocate},
	{"stat", "p", KIND_STAT, make_stat},
	{"lstat", "p", KIND_STAT, make_lstat},
	{"fstat", "d", KIND_STAT, make_fstat},
	{"access", "p", KIND_STAT, make_access},
	{"readlink", "p", KIND_STAT, make_readlink},
	{"statfs", "", KIND_STAT, make_statfs},
	{"getdents", "d", KIND_LIST, make_getdents},
	{"chmod", "pm", KIND_CHANGE, make_chmod},
	{"fchmod", "dm", KIND_CHANGE, make_fchmod},
	{"chown", "pnn", KIND_CHANGE, make_chown},
	{"lchown", "pnn", KIND_CHANGE, make_lchown},
	{"fchown", "dnn", KIND_CHANGE, make_fchown},
	{"utimes", "p", KIND_CHANGE, make_utimes},
	{"lutimes", "p", KIND_CHANGE, make_lutimes},
	{"futimes", "d", KIND_CHANGE, make_futimes},
	{"fadvise", "dnna", KIND_ADVISE, make_fadvise},
	{NULL, NULL, KIND_OPEN, NULL},
};

/* A file of so many bytes of the payload. */
static result make_file(struct player *p, const struct call *c)
{
	long long left = c->number[0];
	int fd = openat(p->root, c->path[0], O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0)
		return -1;
	payload_align(&p->payload);
	while (left > 0) {
		size_t size = left < CHUNK ? (size_t)left : CHUNK;
		const void *data = payload_next(&p->payload, size);

		if (checked_write(fd, data, size, c->path[0])) {
			close(fd);
			return -1;
		}
		left -= (long long)size;
	}
	return close(fd);
}

const struct verb befores[] = {
	{"dir", "pm", KIND_MKDIR, make_mkdir},
	{"file", "pn", KIND_WRITE, make_file},
	{"symlink", "tp", KIND_LINK, make_symlink},
	{"opened", "Dpf", KIND_OPEN, make_open},
	{CALLS_BEGIN, "", KINDS, NULL},
	{NULL, NULL, KIND_OPEN, NULL},
};

int player_open(struct player *player, const char *folder, uint64_t largest,
		enum payload_kind kind, uint64_t seed, double compressibility)
{
	umask(0);
	player->root = checked_open(folder, O_RDONLY | O_DIRECTORY, 0);
	if (player->root < 0)
		return -1;
	player->files = allocate(FILES_MAX, sizeof(*player->files), "files");
	player->synced = allocate(FILES_MAX, sizeof(*player->synced), "files");
	for (int i = 0; i < FILES_MAX; i++)
		player->files[i] = -1;
	if (largest < CHUNK)
		largest = CHUNK;
	player->read = allocate(largest, 1, "what is read");
	payload_open(&player->payload, kind, seed, compressibility, largest);
	return 0;
}

void player_close(struct player *player)
{
	for (int i = 0; player->files && i < FILES_MAX; i++)
		if (player->files[i] >= 0)
			close(player->files[i]);
	if (player->root >= 0)
		close(player->root);
	free(player->files);
	free(player->synced);
	free(player->read);
	payload_close(&player->payload);
}

enum kind call_kind(const struct player *player, const struct call *call)
{
	if (call->error)
		return KIND_FAILED;
	if (call->verb->kind == KIND_WRITE && player->synced[call->file])
		return KIND_WRITE_SYNC;
	return call->verb->kind;
}
