// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a job; see files.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "files.h"

void files_name(struct files *files, const struct job *job, const char *folder,
		uint64_t clone)
{
	files->job = job;
	files->bytes = job_file_bytes(job);
	files->blocks = files->bytes / job_unit(job);
	files->all = allocate(job->nrfiles, sizeof(*files->all), "the files");
	for (uint64_t i = 0; i < job->nrfiles; i++)
		files->all[i].path =
			job->filename
				? text("%s/%s", folder, job->filename)
				: text("%s/%s.%llu.%llu", folder, job->name,
				       (unsigned long long)clone,
				       (unsigned long long)i);
}

void files_free(struct files *files)
{
	for (uint64_t i = 0; i < files->job->nrfiles; i++) {
		free(files->all[i].path);
		free(files->all[i].order);
	}
	free(files->all);
}

/* Of a file, with what lies before the part that the job works on. */
static uint64_t whole_bytes(const struct files *files)
{
	return files->job->offset + files->bytes;
}

/* Advice is no order: a file system that takes none is as good. */
static void forget(const struct files *files, int fd)
{
	posix_fadvise(fd, (off_t)files->job->offset, (off_t)files->bytes,
		      POSIX_FADV_DONTNEED);
}

static int reserve(const struct files *files, int fd, const char *path)
{
	if (!files->job->fallocate ||
	    !fallocate(fd, 0, 0, (off_t)whole_bytes(files)) ||
	    errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return fail_errno("allocate", path);
}

static int write_whole(const struct files *files, int fd, const char *path,
		       struct payload *payload)
{
	uint64_t most = files->job->bs_max.of[WAY_WRITE];

	if (ftruncate(fd, (off_t)whole_bytes(files)))
		return fail_errno("truncate", path);
	for (uint64_t left = whole_bytes(files); left;) {
		uint64_t bytes = left < most ? left : most;

		if (checked_write(fd, payload_next(payload, bytes), bytes,
				  path))
			return -1;
		left -= bytes;
	}
	return checked_fsync(fd, path);
}

static int lay_out(const struct files *files, const char *path,
		   struct payload *payload, uint64_t *written)
{
	const struct job *job = files->job;
	bool whole = job_reads(job) || job->overwrite;
	struct stat there;
	int fd, error;

	if (!stat(path, &there)) {
		if ((uint64_t)there.st_size >= whole_bytes(files))
			return 0;
		if (checked_unlink(path))
			return -1;
	}
	fd = checked_open(path, O_WRONLY | O_CREAT | (whole ? O_TRUNC : 0),
			  0644);
	if (fd < 0)
		return -1;
	error = reserve(files, fd, path);
	if (!error && whole) {
		error = write_whole(files, fd, path, payload);
		*written += whole_bytes(files);
	}
	forget(files, fd);
	return checked_close(fd, path) ? -1 : error;
}

int files_lay_out(struct files *files, struct payload *payload,
		  uint64_t *written)
{
	for (uint64_t i = 0; i < files->job->nrfiles; i++)
		if (lay_out(files, files->all[i].path, payload, written))
			return -1;
	return 0;
}

static int flags_of(const struct job *job)
{
	static const int syncs[] = {0, O_SYNC, O_DSYNC};
	int flags = job_writes(job) ? O_RDWR | O_CREAT : O_RDONLY;

	return flags | syncs[job->sync] | (job->direct ? O_DIRECT : 0);
}

static void advise(const struct files *files, int fd)
{
	const struct job *job = files->job;
	int hint = job->fadvise_hint;

	if (job->invalidate)
		forget(files, fd);
	if (hint == HINT_BY_RW)
		hint = job_random(job) ? HINT_RANDOM : HINT_SEQUENTIAL;
	if (hint != HINT_NONE)
		posix_fadvise(fd, (off_t)job->offset, (off_t)files->bytes,
			      hint == HINT_RANDOM ? POSIX_FADV_RANDOM
						  : POSIX_FADV_SEQUENTIAL);
}

int files_open(struct files *files)
{
	for (uint64_t i = 0; i < files->job->nrfiles; i++) {
		struct file *file = &files->all[i];

		file->here = 0;
		file->fd = checked_open(file->path, flags_of(files->job), 0600);
		if (file->fd < 0 && files->job->direct &&
		    diag_errno() == EINVAL)
			return fail("direct=1: this file system has no "
				    "O_DIRECT: leave it out");
		if (file->fd < 0)
			return -1;
		advise(files, file->fd);
	}
	return 0;
}

int files_close(struct files *files)
{
	for (uint64_t i = 0; i < files->job->nrfiles; i++)
		if (checked_close(files->all[i].fd, files->all[i].path))
			return -1;
	return 0;
}

int files_unlink(struct files *files)
{
	for (uint64_t i = 0; i < files->job->nrfiles; i++)
		if (checked_unlink(files->all[i].path))
			return -1;
	return 0;
}
