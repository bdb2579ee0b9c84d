/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tracers write: records of 64 bytes, defined here for the kernel and
 * for programs on the board. The decoder src/nandlab/traced/records.py has the
 * same layout; a test compares them.
 *
 * A record is an interval, or an instant if its latency is 0, in the life of
 * one task. The intervals of a task nest, so no pointer from cause to effect is
 * needed: a flash operation belongs to the innermost interval of its task that
 * contains it. Records are written when their interval ends and numbered when
 * it begins; sorted by number they are one timeline of all tracers and all
 * CPUs.
 *
 * The file /proc/tracers/records is a struct trace_header, then records, in the
 * machine's byte order. Several such files may be concatenated: a header is as
 * long as a record and has its type at the same offset.
 */
#ifndef TRACERS_RECORDS_H
#define TRACERS_RECORDS_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stddef.h>
#include <linux/types.h>
#endif

#define TRACE_MAGIC    0x5243524e /* "NRCR" */
#define TRACE_VERSION  1
#define TRACE_MARK_MAX 24

/* Types of events. The numbers are part of the format; the text logs print the
 * names. The types of a monitor are one range: see TRACE_VFS_FIRST and so
 * on. */
/* clang-format off */
#define TRACE_TYPES(X)                                                          \
	X(1,  MARK)            /* text of the user, 24 bytes */                  \
	/* vfsmon: object is the inode, device its file system */               \
	X(16, VFS_OPEN)        /* extra: flags of open(2) */                     \
	X(17, VFS_READ)        /* offset, size asked; extra: pages that hit */   \
	X(18, VFS_WRITE)       /* offset, size asked */                          \
	X(19, VFS_FSYNC)       /* offset, size of the range */                   \
	X(20, VFS_UNLINK)                                                       \
	X(21, VFS_RENAME)                                                       \
	X(22, VFS_MKDIR)       /* object: the parent */                          \
	X(23, VFS_RMDIR)                                                        \
	X(24, VFS_TRUNCATE)    /* offset: the new length */                      \
	X(25, VFS_SPLICE)      /* sendfile: as VFS_READ */                       \
	X(26, VFS_FAULT)       /* page fault of a mapping; extra: pages hit */   \
	X(27, VFS_CLOSE)       /* close(2) of a file */                          \
	X(28, VFS_RELEASE)     /* the last close of an open file */              \
	X(29, VFS_EVICT)       /* inode leaves memory; may remove the file */    \
	X(30, VFS_MOUNT)       /* object 0 */                                    \
	X(31, VFS_UNMOUNT)     /* object 0 */                                    \
	X(32, VFS_SYNC)        /* of a file system, or all; object 0 */          \
	X(33, VFS_WRITEBACK)   /* the kernel writes a file's dirty pages */      \
	/* these six have offset and size in pages of the file */               \
	X(40, PC_HIT)          /* pages that a read found in the cache */        \
	X(41, PC_MISS)         /* pages not found, or not yet up to date */      \
	X(42, SYNC_RA)         /* page missed, pages asked for */                \
	X(43, ASYNC_RA)        /* page with the mark, pages asked for */         \
	X(44, RA_SUBMIT)       /* window; extra: pages after its mark */         \
	X(45, FS_READAHEAD)    /* the window, given to the file system */        \
	X(48, FS_READ_PAGE)    /* offset, size: of the page, as all below */     \
	X(49, FS_WRITE_BEGIN)                                                   \
	X(50, FS_WRITE_END)                                                     \
	X(51, FS_WRITE_PAGE)                                                    \
	X(52, FS_WRITE_PAGES)  /* extra: pages, at most */                       \
	X(53, FS_LOOK_UP)      /* object: the folder, here and below */          \
	X(54, FS_CREATE)       /* of a regular file */                           \
	/* flashmon: object is the page of the chip, device the MTD's number */  \
	X(64, FLASH_READ)      /* offset: byte of the chip; size: data bytes */  \
	X(65, FLASH_PROGRAM)   /* as FLASH_READ */                               \
	X(66, FLASH_ERASE)     /* object: first page; extra: the block */        \
	X(67, FLASH_HIT)       /* the read buffer had the page */                \
	X(70, MTD_READ)        /* offset, size asked; extra: spare bytes */      \
	X(71, MTD_WRITE)       /* offset, size asked; extra: spare bytes */      \
	X(72, MTD_ERASE)       /* offset, size */                                \
	/* funcmon: object is the function's number in /proc/tracers/names */    \
	X(96, FUNC)            /* offset: ns in traced functions called inside */
/* clang-format on */

enum trace_type {
#define TRACE_TYPE_NUMBER(number, name) TRACE_##name = number,
	TRACE_TYPES(TRACE_TYPE_NUMBER)
#undef TRACE_TYPE_NUMBER
		TRACE_HEADER = 255, /* not an event: a struct trace_header */
};

/* Ranges of types: first and last. */
#define TRACE_VFS_FIRST	  16
#define TRACE_VFS_LAST	  63
#define TRACE_FLASH_FIRST 64
#define TRACE_FLASH_LAST  95
#define TRACE_FUNC_FIRST  96
#define TRACE_FUNC_LAST	  127

/* Bits of trace_record.flags. */
enum trace_flag {
	TRACE_OOB = 1,	   /* spare bytes alone */
	TRACE_RAW = 2,	   /* past the ECC engine */
	TRACE_SUBPAGE = 4, /* part of a page */
	TRACE_VECTOR = 8,  /* readv, writev and other calls with many buffers */
	TRACE_AROUND = 16, /* a fault that maps the cached pages around it */
};

struct trace_record {
	__u64 seq;	  /* number of the event, in order of beginning */
	__u64 start_ns;	  /* CLOCK_MONOTONIC at its beginning */
	__u64 latency_ns; /* to its end */
	__u8 type;	  /* enum trace_type */
	__u8 cpu;	  /* on which it ended */
	__u8 depth;	  /* FUNC: traced functions around it */
	__u8 flags;	  /* enum trace_flag */
	__u16 task;	  /* number in /proc/tracers/names; 0: no name */
	__u16 device;	  /* major << 8 | minor, or number of the MTD device */
	__u32 pid;	  /* thread */
	__u32 size;	  /* bytes, or pages where the type says so */
	union {
		struct {
			__u64 object; /* inode, page of the chip, function */
			__u64 offset; /* bytes, or pages */
			__s32 result; /* bytes or 0; -errno */
			__u32 extra;
		};
		char text[TRACE_MARK_MAX];
	};
};

struct trace_header {
	__u32 magic;
	__u16 version;
	__u16 record_bytes;
	__u64 time_ns; /* CLOCK_MONOTONIC when the file was opened */
	__u64 lost;    /* records lost until then */
	__u8 type;     /* TRACE_HEADER */
	__u8 reserved[7];
	__u64 missed;  /* events missed until then, without a record */
	__u64 written; /* records written until then, lost ones included */
	__u64 reserved2[2];
};

static_assert(sizeof(struct trace_record) == 64, "record layout");
static_assert(sizeof(struct trace_header) == 64, "header layout");
static_assert(offsetof(struct trace_record, type) ==
		      offsetof(struct trace_header, type),
	      "a header is told from a record by its type");

#endif
