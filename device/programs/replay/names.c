// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls on names below the folder; see make.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "calls.h"
#include "make.h"

result make_rename(struct player *p, const struct call *c)
{
	return renameat(p->root, c->path[0], p->root, c->path[1]);
}

result make_rename_new(struct player *p, const struct call *c)
{
	return renameat2(p->root, c->path[0], p->root, c->path[1],
			 RENAME_NOREPLACE);
}

result make_exchange(struct player *p, const struct call *c)
{
	return renameat2(p->root, c->path[0], p->root, c->path[1],
			 RENAME_EXCHANGE);
}

result make_link(struct player *p, const struct call *c)
{
	return linkat(p->root, c->path[0], p->root, c->path[1], 0);
}

result make_symlink(struct player *p, const struct call *c)
{
	return symlinkat(c->path[0], p->root, c->path[1]);
}

result make_unlink(struct player *p, const struct call *c)
{
	return unlinkat(p->root, c->path[0], 0);
}

result make_rmdir(struct player *p, const struct call *c)
{
	return unlinkat(p->root, c->path[0], AT_REMOVEDIR);
}

result make_mkdir(struct player *p, const struct call *c)
{
	return mkdirat(p->root, c->path[0], (mode_t)c->mode);
}

/* truncate(2) knows no folder to begin from. */
result make_truncate(struct player *p, const struct call *c)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", p->root,
		 c->path[0]);
	return truncate(path, c->number[0]);
}

result make_stat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstatat(p->root, c->path[0], &stat, 0);
}

result make_lstat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstatat(p->root, c->path[0], &stat, AT_SYMLINK_NOFOLLOW);
}

result make_access(struct player *p, const struct call *c)
{
	return faccessat(p->root, c->path[0], F_OK, 0);
}

result make_readlink(struct player *p, const struct call *c)
{
	char target[PATH_MAX];

	return readlinkat(p->root, c->path[0], target, sizeof(target)) < 0 ? -1
									   : 0;
}

result make_statfs(struct player *p, const struct call *c)
{
	struct statfs stat;

	(void)c;
	return fstatfs(p->root, &stat);
}

result make_chmod(struct player *p, const struct call *c)
{
	return fchmodat(p->root, c->path[0], (mode_t)c->mode, 0);
}

result make_chown(struct player *p, const struct call *c)
{
	return fchownat(p->root, c->path[0], (uid_t)c->number[0],
			(gid_t)c->number[1], 0);
}

result make_lchown(struct player *p, const struct call *c)
{
	return fchownat(p->root, c->path[0], (uid_t)c->number[0],
			(gid_t)c->number[1], AT_SYMLINK_NOFOLLOW);
}

result make_utimes(struct player *p, const struct call *c)
{
	return utimensat(p->root, c->path[0], NULL, 0);
}

result make_lutimes(struct player *p, const struct call *c)
{
	return utimensat(p->root, c->path[0], NULL, AT_SYMLINK_NOFOLLOW);
}
