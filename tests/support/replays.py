# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded load for tests of the program ``replay``."""

from __future__ import annotations

EVERY = r"""# every call that the language has
dir d 755
file d/a 5000
symlink a d/s
opened 9 d/a O_RDWR
calls
open 1 "d/a" O_RDWR
read 1 4096
read 1 4096 = 904
read 1 100 = 0
pread 1 10 3
readv 1 0,0 = 0
preadv 1 10,20 0
lseek 1 0 SEEK_SET = 0
open 2 "d/b\xc3\xa9 x" O_RDWR|O_CREAT|O_EXCL 644
write 2 100
writev 2 10,20
pwrite 2 50 1000
pwritev 2 1,2,3 2000
fsync 2
fdatasync 2
fadvise 2 0 0 POSIX_FADV_DONTNEED
sync_range 2 0 0 2
syncfs 2
sync
ftruncate 2 10
fallocate 2 0 0 20
fstat 2
fchmod 2 600
fchown 2 -1 -1
futimes 2
close 2
open 3 d/c O_WRONLY|O_CREAT|O_DSYNC 640
write 3 7
close 3
rename d/c d/e
rename_new d/e d/f
exchange d/f d/a
link d/a d/g
symlink ../x d/h
lstat d/h
stat d/h = -ENOENT
readlink d/h
readlink d/g = -EINVAL
access d/g
statfs
unlink d/g
truncate d/f 100
chmod d/f 600
chown d/f -1 -1
lchown d/h -1 -1
utimes d/f
lutimes d/h
mkdir n 700
mkdir n 700 = -EEXIST
open 3 . O_RDONLY|O_DIRECTORY
getdents 3
fsync 3
rmdir n
rmdir d = -ENOTEMPTY
open 4 d/b/nope O_RDONLY = -ENOENT
write 9 5
"""
