/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a job's clone: laid out as fio does before any job begins, and
 * opened when the job runs.
 *
 * A file that is there and long enough is taken as it is. Otherwise one that
 * will be written only is begun anew, and where the file system offers
 * fallocate it has its bytes at once; one that will be read, or has
 * overwrite=1, is written whole and synced.
 */
#ifndef FIOJOBS_FILES_H
#define FIOJOBS_FILES_H

#include "jobs.h"
#include "payload.h"

struct file {
	char *path;
	int fd;
	uint64_t left;	   /* bytes of this pass that are yet to be moved */
	uint64_t at[WAYS]; /* where the next request in sequence begins */
	uint64_t here;	   /* where the file's own position is */
	uint64_t *order;   /* random map: its blocks as they are to come; if
			    * sizes vary, at each block one that may be free */
	uint64_t next;	   /* of the map */
};

struct files {
	const struct job *job;
	struct file *all;
	uint64_t bytes; /* of the part of each that the job works on */
	uint64_t blocks;
};

void files_name(struct files *files, const struct job *job, const char *folder,
		uint64_t clone);
void files_free(struct files *files);

/* *@written: bytes that were laid out are added to it. */
int files_lay_out(struct files *files, struct payload *payload,
		  uint64_t *written);
int files_open(struct files *files);
int files_close(struct files *files);
int files_unlink(struct files *files);

#endif
