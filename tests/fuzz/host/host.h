/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init and the agent on the host: included before all of their sources, it puts
 * harmless calls in the place of those that a board alone may make. Nothing is
 * mounted or rebooted, no port is written, no shell is run, the kernel is told
 * nothing. Time passes by the calls that wait for it. Absolute paths are looked
 * for below root/ first, and are not written to. Memory of the board's is the
 * file root/dev/mem, and what is unpacked from it goes to one file.
 */
#ifndef NANDLAB_FUZZ_HOST_H
#define NANDLAB_FUZZ_HOST_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

FILE *host_fopen(const char *path, const char *mode);
int host_open(const char *path, int flags, ...);
int host_access(const char *path, int mode);
int host_chdir(const char *folder);
void *host_map(int file, size_t bytes, off_t at);
int host_clock_gettime(clockid_t clock, struct timespec *t);
int host_clock_nanosleep(clockid_t clock, int flags,
			 const struct timespec *until, struct timespec *left);
int host_sigtimedwait(const sigset_t *set, siginfo_t *info,
		      const struct timespec *most);
pid_t host_setsid(void);
int host_execl(const char *path, ...);
int host_well(const char *what);
int host_end(void);

#define fopen			     host_fopen
#define open			     host_open
#define access			     host_access
#define clock_gettime		     host_clock_gettime
#define clock_nanosleep		     host_clock_nanosleep
#define sigtimedwait		     host_sigtimedwait
#define setsid			     host_setsid
#define execl			     host_execl
#define mmap(a, bytes, p, f, fd, at) host_map(fd, bytes, at)
#define munmap(at, bytes)	     free(at)
#define ioctl(file, ...)	     host_well("ioctl")
#define klogctl(what, text, size)    host_well("klogctl")
#define chdir			     host_chdir
#define mkdir(dir, mode)	     host_well(dir)
#define mount(from, dir, type, f, d) host_well(dir)
#define system(command)		     host_well(command)
#define ioperm(from, count, on)	     host_well("ioperm")
#define outb(value, port)	     host_well("outb")
#define reboot(how)		     host_end()
#define pause			     host_end

#endif
