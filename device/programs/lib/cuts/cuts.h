/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs share that cut the power, or let the chip fail, at each flash
 * operation of a load: the load and its oracle, the file system under test, the
 * chip's journal, and a verdict. cutcheck, sqlcut and faultcheck are such.
 */
#ifndef LIB_CUTS_H
#define LIB_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKS_OWN "written-after" /* the check's own file, in the root */

#ifndef MOUNTPOINT /* a test has another */
#define MOUNTPOINT "/mnt"
#endif
#define FILE_BYTES_MAX (1u << 20)
#define NONE	       (-1)
#define BEGUN(op)      (2 * (op))
#define RETURNED(op)   (2 * (op) + 1)
#define NEVER	       UINT32_MAX

enum what {
	OP_CREATE,
	OP_MKDIR,
	OP_WRITE,  /* through the page cache */
	OP_SWRITE, /* O_SYNC: kept once it returns */
	OP_MWRITE, /* through a shared mapping */
	OP_TRUNCATE,
	OP_RENAME,
	OP_LINK,
	OP_UNLINK,
	OP_RMDIR,
	OP_FSYNC,
	OP_FSYNCDIR,
	OP_SYNC,
	OP_READONLY, /* mounted read-only and writable again: keeps all */
	OP_OPEN,     /* held open until closed: writes go through it */
	OP_CLOSE,
	OP_DAMAGE,    /* the moment at which faultcheck damages the chip */
	OP_NOREPLACE, /* renameat2(2), likewise the next two */
	OP_EXCHANGE,
	OP_WHITEOUT,	/* leaves a whiteout under the old name */
	OP_SYMLINK,	/* to a drawn target of so many letters */
	OP_TMPLINK,	/* O_TMPFILE, so many bytes, linkat(2) */
	OP_FDATASYNC,	/* keeps content, and no metadata */
	OP_FALLOCATE,	/* mode 0: the file gets longer */
	OP_SETXATTR,	/* at: the attribute's number, bytes: its value's */
	OP_REMOVEXATTR, /* bytes: the attribute's number */
	OP_CHMOD,	/* bytes: the mode, written in octal */
	OP_CHOWN,	/* at: user, bytes: group */
	OP_UTIMENS,	/* bytes: seconds of the last change */
	OP_DROPCACHES,
	OP_STATFS,    /* each mount after a cut judges what statfs(2) says */
	OP_TMPFILE,   /* O_TMPFILE, held open and without a name */
	OP_LINKTMP,   /* linkat(2) gives that file its name */
	OP_BEGINSYNC, /* a sync begins beside the load; bytes: microseconds
		       * until the load goes on */
	OP_ENDSYNC,   /* wait until it has returned */
	OP_WAKEGC,    /* the collector gets a signal; bytes: microseconds until
		       * the load goes on */
};

/* What an inode is. */
enum sort { A_FILE, A_FOLDER, A_SYMLINK, A_WHITEOUT };

/* Attributes are user.0 to user.9; their values, and targets of symbolic links,
 * have at most so many bytes. */
#define XATTRS	    10
#define VALUE_BYTES 4096

struct op {
	enum what what;
	int name;
	int to;		    /* second name of rename and link, else NONE */
	int inode;	    /* that it is about, NONE for sync */
	uint64_t at, bytes; /* of a write; bytes: a truncation's size */

	uint8_t *data; /* what it writes, once asked for: see cuts_load_bytes()
			*/

	/* Flash operations recorded before it began, and before it returned;
	 * NEVER: it did not. */
	uint32_t begun, returned;
};

/* A name's inode from an operation on; NONE: there is no such name. */
struct event {
	int op;
	int inode;
};

struct name {
	char *path; /* below the mount point */
	int parent; /* a name, or NONE for the root */
	struct event *event;
	int events;
};

/* What names point to. Inodes have numbers of the load's own. */
struct inode {
	enum sort sort;
	int links;
	int gone;    /* operation that took its last name, INT_MAX: none */
	bool linked; /* had two names on purpose */
	int *op;     /* those that change its content, in order */
	int ops;
	int *set; /* those that set its metadata, in order */
	int sets;
};

struct load {
	char *title;
	struct name *name;
	int names;
	struct inode *inode;
	int inodes;
	struct op *op;
	int ops;
	int base;  /* the first operations, which were kept before the recording
		    */
	bool sets; /* an operation of it sets metadata */
	bool statfs; /* one asks for the room that there is */
};

struct finding;

/* A kind of load: how one is read, played, and judged after a cut. */
struct oracle {
	/* The loads of a text; the operations before the first are the base.
	 * The n-th from 0, into zeroed memory. 1: there are fewer; -1 after a
	 * message. */
	int (*read)(const char *path, int n, struct load *load);
	void (*free)(struct load *load);

	/* Do an operation; -1 after a message. Then close what is held open. */
	int (*play)(const struct load *load, int op);
	void (*play_end)(void);

	/* Whether what is mounted is what the load may have left after so many
	 * flash operations. in_next: the next has begun. seen: a digest of all
	 * that was seen. */
	void (*judge)(const struct load *load, uint32_t operations,
		      bool in_next, struct finding *finding, uint64_t *seen);

	/* The same digest without a judgement of names and content: what cannot
	 * be read and what never was is found. */
	void (*look)(const struct load *load, struct finding *finding,
		     uint64_t *seen);

	/* Whether files are made longer after the first mount, as extend.c
	 * says. */
	bool extends;
};

/* Files and folders: load.c, play.c, judge.c and content.c. */
extern const struct oracle cuts_files;

/* The bytes that an operation on files writes. Each operation's are its own;
 * none is 0, so that a hole is told from data. No compressor shortens those of
 * one half of the operations, and any shortens those of the other. Those of a
 * symbolic link's target are letters. */
const uint8_t *cuts_load_bytes(const struct load *load, int op);

/* module.c: load a module of the kernel; -1 after a message. */
int cuts_module_load(const char *name);

#define KNOBS_MAX  8
#define KNOB_BYTES 32
#define SAYS_MAX   24

/* Files of the kernel that switch a file system's own checks on: what they take
 * at a mount, what when it is mounted (NULL: the same), and what they had; and
 * words of the kernel's log by which a check that keeps nothing from mounting
 * says that it failed. */
struct knobs {
	const char *path[KNOBS_MAX];
	const char *on[KNOBS_MAX];
	const char *mounted[KNOBS_MAX];
	char before[KNOBS_MAX][KNOB_BYTES];
	int count;
	const char *says[SAYS_MAX];
	int said;
};

/* knobs.c: the first two say what failed, and return -1; the others end the
 * program then. */
int knobs_take(struct knobs *knobs, char *path_and_value);
int knobs_take_words(struct knobs *knobs, const char *words);
void knobs_set(struct knobs *knobs, bool on);
void knobs_mounted(const struct knobs *knobs);

/* The file system under test, and what it is tried with. */
struct subject {
	const struct oracle *oracle;
	const char *type;
	const char *source;
	const char *options;
	unsigned long flags; /* of mount(2) */
	int ubi;	     /* MTD device to attach first, NONE: no UBI */
	const char *module;  /* to look for its medium at each mount, or NULL */
	struct knobs *checks; /* on at the second mount */
	bool stale; /* to try the checker: files made longer have old bytes */
	bool lies;  /* to try the checker: the sync of its write does nothing */
};

/* subject.c. Both are quiet: errno says why not. */
int subject_mount(const struct subject *subject);
int subject_unmount(const struct subject *subject);

/* journal.c: the chip's journal. Each says what failed, and returns -1. */
int journal_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int journal_recorded(uint32_t *operations);
int journal_checked(uint32_t *operations); /* of the check, so far */
int journal_once_failed(uint32_t *failed); /* the operation that is to fail
					    * once, did: 1 */

/* Give the operations of the load their begun and returned. */
int journal_read_marks(struct load *load);

/* CRC-32 of the chip as it is; a digest of all that is recorded. */
int journal_chip(uint32_t *crc);
int journal_recording(uint64_t *digest);

/* Kind of each recorded operation: 'p', 'o', 'b' or 'e', as a string. */
char *journal_kinds(void);

/* What the module's table says of a way to tear (way.h). */
struct journal_way {
	bool tears_erases; /* it has something to tear of an erase */
	bool unstable;	   /* its cells read one time so and one time so */
};

/* -1 after a message: there is none of this name. */
int journal_find_way(const char *name, struct journal_way *way);

enum verdict {
	HELD,
	UNMOUNTABLE,
	NEVER_AGAIN,  /* from some mount on none of several succeeds */
	LOST,	      /* what was synced is not there, or is older */
	WRONG,	      /* content that never was */
	BEHIND,	      /* bytes behind its old end, once it is longer */
	CHANGED,      /* what nobody wrote to is another at the second mount */
	UNREADABLE,   /* a name is there, reading it fails */
	RESURRECTED,  /* what was deleted and synced is there */
	UNKNOWN,      /* a name that never was */
	FOLDER_TWICE, /* a folder renamed, and there under both names */
	CALL_FAILS,   /* a call of the load, once a sync had begun beside it */
	METADATA,     /* mode, owner, time, attribute or count of links */
	RENAME_TWICE, /* a file renamed, and there under both names */
	NOT_AFTER,    /* a write and a sync after the cut do not hold */
	KERNEL,	      /* the kernel warned of itself */
	CHECK,	      /* the file system's own check fails */
	VARIES,	      /* the same point again, and another verdict */
	VERDICTS,
};

extern const char *const cuts_verdict_names[];
/* A letter for each. */
extern const char cuts_verdict_letters[];

struct finding {
	enum verdict verdict;
	char what[160];
};

/* verdict.c: keeps the first that is found of a point. */
void cuts_found(struct finding *finding, enum verdict verdict,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* extend.c: after the first mount was judged its files are made longer, and the
 * next one must show zeros behind their old ends, for what was cut off may lie
 * on flash still. A file that no room is left for is as it was. stale: it has
 * another byte there, to try the checker. */
#define EXTENDED_BYTES 8192 /* the rest of a page, and more than one more */
void extend_none(const struct load *load);
void extend_files(const struct load *load, bool stale, struct finding *finding);
bool extend_is_longer(int name);

/* statfs.c: what it may count as used beyond the files: bytes that the file
 * system keeps for itself. NEVER_USED: it does not say. */
#define NEVER_USED UINT64_MAX
extern uint64_t cuts_statfs_reserve;

/* kernel.c: what the kernel says of itself, and a file system's own checks. */
int kernel_open(const struct knobs *checks);
void kernel_judge(struct finding *finding);

#endif
