// SPDX-License-Identifier: GPL-2.0-or-later
/* Brings the flash to its initial state; see fill.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "fill.h"
#include "interrupt.h"

/* Bytes of a chunk of one kind that is not mixed with the other: an fsync()
 * pads less than 4 % of it. */
#define SOLID_CHUNK 65536
/* Bytes of a page of the page cache, and of a node of JFFS2 or UBIFS. */
#define STEP 4096
/* Bytes; the size of a page is taken for this until it can be estimated. */
#define SMALLEST_PAGE 512
/* Bytes pushed with no page programmed, from which on fsync() pushes. */
#define UNMOVED_RANGE (64 << 10)
/* The same with fsync() too: the location is not on this chip, so fail. */
#define UNMOVED_FSYNC (4 << 20)

struct fill_file {
	char *path;
	int fd;
	uint64_t bytes;
	double done; /* units: pages if the chip counts them, else bytes */
};

struct fill {
	const struct config *config;
	struct phases *phases;
	struct payload *payload;
	struct fill_file valid, invalid;
	double unit_bytes;   /* of one unit, about */
	double partition;    /* units */
	bool chip;	     /* units are pages, counted by the chip */
	bool by_fsync;	     /* else by sync_file_range(), which pads nothing */
	int count_fd;	     /* the chip's file of that count alone, or -1 */
	uint64_t programmed; /* pages, when last read */
	uint64_t unread;     /* bytes pushed since then */
	uint64_t unmoved;    /* bytes pushed since that changed */
};

uint64_t fill_largest(const struct config *config)
{
	return config->fill_chunk > SOLID_CHUNK ? config->fill_chunk
						: SOLID_CHUNK;
}

bool fill_wanted(const struct config *config)
{
	return config->fill_valid + config->fill_invalid > 0;
}

static double file_system_bytes(const struct config *config)
{
	struct statvfs size;

	if (statvfs(config_location(config, 0), &size))
		return fail_errno("get the size of the file system of",
				  config_location(config, 0));
	return (double)size.f_blocks * (double)size.f_frsize;
}

uint64_t fill_estimate(const struct config *config)
{
	double bytes = fill_wanted(config) ? file_system_bytes(config) : 0;

	if (bytes < 0)
		return 0;
	return (uint64_t)((config->fill_valid + config->fill_invalid) * bytes);
}

static char *path_of(const struct config *config, const char *name)
{
	return text("%s/%s", config_location(config, 0), name);
}

/* The unit is pages if the chip counts what is needed, else bytes. */
static int choose_unit(struct fill *fill)
{
	struct result *result = fill->phases->result;
	double bytes = file_system_bytes(fill->config);
	struct flash_counters now;

	if (bytes < 0 || phases_read_chip(fill->phases, &now))
		return -1;
	fill->chip = fill->phases->chip && fill_is_counted(&now);
	if (!fill->chip) {
		fill->by_fsync = true;
		fill->partition = bytes;
		warnings_add(&result->warnings,
			     "fill-unverified: without the chip's count of "
			     "programmed pages the fill goes by bytes of the "
			     "file system");
		return 0;
	}
	fill->partition = (double)now.partition_pages;
	fill->programmed = now.pages_programmed;
	result->state.known = true;
	result->state.before = (double)fill->programmed / fill->partition;
	return 0;
}

/* Write the last @size bytes of the file back to the flash. */
static int push(struct fill *fill, struct fill_file *file, uint64_t size)
{
	const unsigned int all = SYNC_FILE_RANGE_WAIT_BEFORE |
				 SYNC_FILE_RANGE_WRITE |
				 SYNC_FILE_RANGE_WAIT_AFTER;

	if (!fill->by_fsync) {
		if (!sync_file_range(file->fd, (off_t)(file->bytes - size),
				     (off_t)size, all))
			return 0;
		if (errno != ENOSYS && errno != EINVAL && errno != ESPIPE)
			return fail_errno("write back", file->path);
		fill->by_fsync = true;
	}
	return checked_fsync(file->fd, file->path);
}

/* The chip's count of programmed pages: from its own file if there is one. */
static int read_programmed(struct fill *fill, uint64_t *pages)
{
	struct flash_counters now;

	if (fill->count_fd >= 0)
		return flash_read_count(fill->count_fd, pages)
			       ? fail_errno("read the programmed pages in",
					    fill->phases->chip)
			       : 0;
	if (phases_read_chip(fill->phases, &now))
		return -1;
	*pages = now.pages_programmed;
	if (*pages == COUNT_MISSING)
		return fail("the chip no longer tells its programmed pages");
	return 0;
}

/* Get the units that the bytes pushed since the last reading have added. */
static int gain(struct fill *fill, double *units)
{
	uint64_t size = fill->unread, programmed;

	fill->unread = 0;
	if (!fill->chip) {
		*units = (double)size;
		return 0;
	}
	if (read_programmed(fill, &programmed))
		return -1;
	*units = (double)programmed - (double)fill->programmed;
	fill->unmoved = *units == 0 ? fill->unmoved + size : 0;
	fill->programmed = programmed;
	if (fill->unmoved >= UNMOVED_RANGE)
		fill->by_fsync = true;
	if (fill->unmoved >= UNMOVED_FSYNC)
		return fail("%d bytes written to '%s' programmed no page of "
			    "the chip of '%s': is it another chip? "
			    "'set flash none' fills by bytes",
			    UNMOVED_FSYNC, config_location(fill->config, 0),
			    fill->phases->chip);
	return 0;
}

static int write_chunk(struct fill *fill, struct fill_file *file, uint64_t size)
{
	if (interrupted)
		return -1;
	payload_align(fill->payload);
	if (checked_write(file->fd, payload_next(fill->payload, size), size,
			  file->path))
		return -1;
	file->bytes += size;
	fill->unread += size;
	return push(fill, file, size);
}

/* Bytes to half way from @done to @goal, by the bytes per unit so far. */
static double half_way(const struct fill *fill, double bytes, double done,
		       double goal)
{
	double unit_bytes = fill->chip ? SMALLEST_PAGE : 1;

	if (done > 0)
		unit_bytes = bytes / done;
	return (goal - done) * unit_bytes / 2;
}

/* Bring one file to @goal units, in chunks that shrink as it comes near. */
static int write_solid(struct fill *fill, struct fill_file *file, double goal)
{
	while (file->done < goal) {
		double bytes =
			half_way(fill, (double)file->bytes, file->done, goal);
		uint64_t size =
			bytes < SOLID_CHUNK ? (uint64_t)bytes : SOLID_CHUNK;
		double gained;

		size = size / STEP * STEP;
		if (write_chunk(fill, file, size ? size : STEP) ||
		    gain(fill, &gained))
			return -1;
		file->done += gained;
	}
	return 0;
}

/*
 * True if what was pushed since the last reading of the chip's count can have
 * ended the fill: then a chunk that is not needed would be one too many. It
 * cannot while it is below half of what was missing at that reading, and a
 * solid chunk at most. Until then @bytes had added @done units of @goal.
 */
static bool may_be_done(const struct fill *fill, double bytes, double done,
			double goal)
{
	double unread = (double)fill->unread;

	return done <= 0 || unread >= SOLID_CHUNK ||
	       unread >= half_way(fill, bytes, done, goal);
}

/*
 * Add @valid and @invalid units in turns. Bytes decide whose turn it is, not
 * pages: a commit of the file system programs pages in one file's turn, and the
 * other file would then have many turns in a row.
 */
static int write_mixed(struct fill *fill, double valid, double invalid)
{
	uint64_t valid_start = fill->valid.bytes;
	uint64_t invalid_start = fill->invalid.bytes;
	double total = 0, counted = 0, share;

	while (total < valid + invalid) {
		double valid_bytes = (double)(fill->valid.bytes - valid_start);
		double invalid_bytes =
			(double)(fill->invalid.bytes - invalid_start);
		bool turn = valid_bytes * invalid <= invalid_bytes * valid;
		double gained;

		if (write_chunk(fill, turn ? &fill->valid : &fill->invalid,
				fill->config->fill_chunk))
			return -1;
		if (!may_be_done(fill, counted, total, valid + invalid))
			continue;
		counted += (double)fill->unread;
		if (gain(fill, &gained))
			return -1;
		total += gained;
	}
	if (total <= 0)
		return 0;
	share = (double)(fill->valid.bytes - valid_start) /
		(double)(fill->valid.bytes - valid_start + fill->invalid.bytes -
			 invalid_start);
	fill->valid.done += total * share;
	fill->invalid.done += total * (1 - share);
	return 0;
}

static int write_both(struct fill *fill)
{
	const struct config *config = fill->config;
	double valid = config->fill_valid * fill->partition;
	double invalid = config->fill_invalid * fill->partition;
	double mix = config->fill_mix;
	double valid_left, invalid_left;

	if (write_solid(fill, &fill->valid, valid * (1 - mix)) ||
	    write_solid(fill, &fill->invalid, invalid * (1 - mix)))
		return -1;
	valid_left = valid - fill->valid.done;
	invalid_left = invalid - fill->invalid.done;
	if (valid_left > 0 && invalid_left > 0)
		return write_mixed(fill, valid_left, invalid_left);
	/* Nothing to mix with: only one kind was asked for, or is left. */
	if (write_solid(fill, &fill->valid, valid))
		return -1;
	return write_solid(fill, &fill->invalid, invalid);
}

/* Sync the file; the pages that this programs count for it. */
static int settle(struct fill *fill, struct fill_file *file)
{
	double gained;

	if (checked_fsync(file->fd, file->path) || gain(fill, &gained))
		return -1;
	if (fill->chip)
		file->done += gained;
	return 0;
}

/* Write a share of the free bytes; the file is left as the kernel has it. */
static int write_share(struct fill *fill, struct fill_file *file, double bytes)
{
	uint64_t left = (uint64_t)bytes;
	int error = 0;

	file->fd = checked_open(file->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (file->fd < 0)
		return -1;
	while (left && !error) {
		size_t size = left < STEP ? left : STEP;

		error = interrupted ||
			checked_write(file->fd,
				      payload_next(fill->payload, size), size,
				      file->path);
		left -= size;
	}
	error |= checked_close(file->fd, file->path);
	if (error)
		checked_unlink(file->path);
	return error ? -1 : 0;
}

static int fill_free_space(struct fill *fill)
{
	const struct config *config = fill->config;
	struct statvfs size;
	double free;

	if (statvfs(config_location(config, 0), &size))
		return fail_errno("get the size of the file system of",
				  config_location(config, 0));
	free = (double)size.f_bfree * (double)size.f_bsize;
	if (write_share(fill, &fill->valid, config->fill_valid * free))
		return -1;
	if (!write_share(fill, &fill->invalid, config->fill_invalid * free) &&
	    !checked_unlink(fill->invalid.path))
		return 0;
	checked_unlink(fill->valid.path);
	return -1;
}

static int fill_pages(struct fill *fill)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL;
	int error;

	fill->valid.fd = checked_open(fill->valid.path, flags, 0600);
	if (fill->valid.fd < 0)
		return -1;
	fill->invalid.fd = checked_open(fill->invalid.path, flags, 0600);
	if (fill->invalid.fd < 0) {
		close(fill->valid.fd);
		unlink(fill->valid.path);
		return -1;
	}
	error = write_both(fill) || settle(fill, &fill->valid) ||
		settle(fill, &fill->invalid);
	error |= checked_close(fill->valid.fd, fill->valid.path);
	error |= checked_close(fill->invalid.fd, fill->invalid.path);
	error |= checked_unlink(fill->invalid.path);
	if (error)
		checked_unlink(fill->valid.path);
	return error ? -1 : 0;
}

int fill_run(struct phases *phases, struct payload *payload)
{
	struct fill fill = {
		.config = phases->config,
		.phases = phases,
		.payload = payload,
		.count_fd = -1,
	};
	bool pages = fill.config->fill_of == FILL_OF_CHIP;
	int error = choose_unit(&fill);

	if (!error) {
		fill.valid.path = path_of(fill.config, "ffsmark.valid");
		fill.invalid.path = path_of(fill.config, "ffsmark.invalid");
		if (pages && fill.chip)
			fill.count_fd = flash_open_count(phases->chip,
							 "pages_programmed");
		error = pages ? fill_pages(&fill) : fill_free_space(&fill);
		if (fill.count_fd >= 0)
			close(fill.count_fd);
		free(fill.valid.path);
		free(fill.invalid.path);
	}
	if (!error && fill.chip && pages) {
		phases->result->state.split = true;
		phases->result->state.valid = fill.valid.done / fill.partition;
		phases->result->state.invalid =
			fill.invalid.done / fill.partition;
	}
	return error;
}

int fill_remove(const struct config *config)
{
	char *path = path_of(config, "ffsmark.valid");
	int error = checked_unlink(path);

	free(path);
	return error;
}
