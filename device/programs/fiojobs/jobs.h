/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be done: jobs, as fio has them, read from a file.
 *
 * The file has a section "[NAME]" for each job, and lines "KEY=VALUE" below
 * it. Keys and their meanings are fio's; values are plain numbers in fio's
 * usual units, or words. A line that begins with # says nothing. What fio
 * resolves before it runs, [global] and suffixes such as 4k, is resolved by
 * whoever wrote the file.
 */
#ifndef FIOJOBS_JOBS_H
#define FIOJOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARES_MAX 32

enum way { WAY_READ, WAY_WRITE, WAYS };

enum rw {
	RW_READ,
	RW_WRITE,
	RW_RANDREAD,
	RW_RANDWRITE,
	RW_MIXED,
	RW_RANDMIXED
};
enum sync { SYNC_NONE, SYNC_ALL, SYNC_DATA };
enum exit_what { EXIT_GROUP, EXIT_STONEWALL };
enum hint { HINT_NONE, HINT_BY_RW, HINT_RANDOM, HINT_SEQUENTIAL };

/* A value for reads and one for writes. */
struct pair {
	uint64_t of[WAYS];
};

/* Sizes of requests, or parts of a file, each with its share in percent. */
struct shares {
	uint64_t count;
	struct {
		uint64_t value, percent;
	} all[SHARES_MAX];
};

struct job {
	char *name;
	int line;  /* of its section in the file */
	int group; /* jobs of one group run at once */
	int rw;
	uint64_t rwmixread; /* percent of the requests */
	struct pair bs; /* bytes of a request, the least of bssplit, bsrange */
	struct pair bs_max;	     /* the most of them */
	struct shares bssplit[WAYS]; /* none: of one size, or of bsrange */
	uint64_t blockalign;	     /* of random places; 0: the least size */
	struct shares zones; /* percent of a file, and of the requests to it */
	int64_t seq_add;     /* bytes skipped after each request in sequence */
	uint64_t offset;     /* where the part begins that it works on */
	uint64_t number_ios; /* requests after which a loop ends; 0: no limit */
	uint64_t size;	     /* bytes that it works on, of all its files */
	uint64_t io_size;    /* bytes that are moved in a loop; 0: size */
	uint64_t nrfiles;
	char *filename; /* of its only file; NULL: NAME.CLONE.FILE */
	int file_service_type;
	uint64_t fsync, fdatasync; /* after so many writes; 0: never */
	uint64_t end_fsync, fsync_on_close;
	int sync;
	uint64_t direct, invalidate;
	int fadvise_hint;
	int fallocate;
	uint64_t overwrite, unlink;
	struct pair rate;      /* bytes a second; 0: as fast as it goes */
	struct pair rate_iops; /* requests a second */
	uint64_t thinktime;    /* us */
	uint64_t thinktime_blocks;
	uint64_t startdelay, runtime; /* s; runtime 0: no limit */
	uint64_t time_based, loops, numjobs;
	uint64_t norandommap, randseed;
	uint64_t buffer_compress_percentage;
	int ioengine;
	uint64_t stonewall;
	uint64_t exitall;    /* its end ends others that run */
	int exit_what;	     /* those of its exit_group, or all that run */
	uint64_t exit_group; /* a group of fio's report */
};

struct jobs {
	struct job *all;
	size_t count;
	int groups;
};

/* Read the jobs of a file, or say what is wrong with it. */
int jobs_read(struct jobs *jobs, const char *path);
void jobs_free(struct jobs *jobs);

static inline bool job_writes(const struct job *job)
{
	return job->rw != RW_READ && job->rw != RW_RANDREAD;
}

static inline bool job_reads(const struct job *job)
{
	return job->rw != RW_WRITE && job->rw != RW_RANDWRITE;
}

static inline bool job_random(const struct job *job)
{
	return job->rw == RW_RANDREAD || job->rw == RW_RANDWRITE ||
	       job->rw == RW_RANDMIXED;
}

static inline uint64_t job_file_bytes(const struct job *job)
{
	return job->size / job->nrfiles;
}

/* The unit of a job's offsets: the smaller of its block sizes. */
static inline uint64_t job_unit(const struct job *job)
{
	uint64_t read = job->bs.of[WAY_READ], write = job->bs.of[WAY_WRITE];

	if (!job_writes(job))
		return read;
	return !job_reads(job) || write < read ? write : read;
}

/* Whether its requests in one way are of several sizes. */
static inline bool job_varies(const struct job *job, int way)
{
	return job->bs.of[way] != job->bs_max.of[way];
}

/* Bytes that it moves in a loop. */
static inline uint64_t job_loop_bytes(const struct job *job)
{
	return job->io_size ? job->io_size : job->size;
}

#endif
