/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Empties the kernel's caches of clean file data, directories and inodes, so
 * that what follows must read the flash.
 *
 * Needs root. Costs a sync() of every file system, then the drop itself: keep
 * it outside whatever is being timed.
 */
#ifndef LIB_PAGECACHE_H
#define LIB_PAGECACHE_H

#ifndef PAGECACHE_CONTROL /* a test has another */
#define PAGECACHE_CONTROL "/proc/sys/vm/drop_caches"
#endif

/* Sync, then write 3 to @control: PAGECACHE_CONTROL, or a test's own file. */
int pagecache_drop(const char *control);

#endif
