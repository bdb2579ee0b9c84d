/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each call is made; calls.c has the verbs. */
#ifndef REPLAY_MAKE_H
#define REPLAY_MAKE_H

#include "calls.h"

typedef long long result;

/* As the system call: -1 and errno, or what it returns. */
typedef result make(struct player *player, const struct call *call);

/* files.c: on open files, from open to close; and sync. */
make make_open, make_close, make_read, make_pread, make_write, make_pwrite,
	make_readv, make_preadv, make_writev, make_pwritev, make_lseek,
	make_fsync, make_fdatasync, make_syncfs, make_sync, make_sync_range,
	make_ftruncate, make_fallocate, make_fstat, make_getdents, make_fchmod,
	make_fchown, make_futimes, make_fadvise;

/* names.c: on names below the folder; and statfs of the folder. */
make make_rename, make_rename_new, make_exchange, make_link, make_symlink,
	make_unlink, make_rmdir, make_mkdir, make_truncate, make_stat,
	make_lstat, make_access, make_readlink, make_statfs, make_chmod,
	make_chown, make_lchown, make_utimes, make_lutimes;

#endif
