// SPDX-License-Identifier: GPL-2.0-or-later
/* Where requests go; see places.h. */
#include "checked.h"
#include "diag.h"
#include "payload.h"
#include "places.h"

/* A number below @bound. */
uint64_t draw_below(uint64_t *random, uint64_t bound)
{
	return payload_draw(random) % bound;
}

static bool varies(const struct job *job)
{
	return job_varies(job, WAY_READ) || job_varies(job, WAY_WRITE);
}

static void shuffle(uint64_t *order, uint64_t count, uint64_t *random)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t j = draw_below(random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

void places_begin(const struct files *files, struct file *file,
		  uint64_t *random)
{
	const struct job *job = files->job;
	uint64_t blocks = files->blocks;

	file->left = blocks * job_unit(job);
	if (job->seq_add && file->left < files->bytes) /* wraps, as fio */
		file->left += job_unit(job);
	file->at[WAY_READ] = file->at[WAY_WRITE] = file->next = 0;
	if (!job_random(job) || job->norandommap)
		return;
	if (!file->order)
		file->order = allocate(blocks + 1, sizeof(*file->order),
				       "the order of blocks");
	for (uint64_t i = 0; i <= blocks; i++)
		file->order[i] = i;
	if (!varies(job))
		shuffle(file->order, blocks, random);
}

/* A block of a file, in one of its zones, each as likely as the job says. */
static uint64_t draw_zone(const struct files *files, uint64_t *random,
			  uint64_t blocks)
{
	const struct shares *zones = &files->job->zones;
	uint64_t percent = draw_below(random, 100), below = 0, before = 0,
		 zone = 0;

	for (; zone + 1 < zones->count; zone++) {
		below += zones->all[zone].percent;
		if (percent < below)
			break;
		before += zones->all[zone].value;
	}
	blocks = blocks > 100 ? blocks : 100;
	return before * blocks / 100 +
	       draw_below(random, zones->all[zone].value * blocks / 100);
}

/* Any block with room for a request of @bytes. */
static uint64_t draw_offset(const struct files *files, uint64_t *random,
			    uint64_t bytes)
{
	const struct job *job = files->job;
	uint64_t unit = job->blockalign ? job->blockalign : job_unit(job);
	uint64_t blocks = (files->bytes - bytes) / unit + 1, at;

	if (!job->zones.count)
		return draw_below(random, blocks) * unit;
	do
		at = draw_zone(files, random, blocks);
	while (at >= blocks);
	return at * unit;
}

/* The first block from @block on that has not come; their number: none. */
static uint64_t next_free(uint64_t *order, uint64_t block)
{
	while (order[block] != block) {
		order[block] = order[order[block]];
		block = order[block];
	}
	return block;
}

/* The next block of the map. If sizes vary, as fio: any, or the next free. */
static uint64_t map_block(const struct files *files, struct file *file,
			  uint64_t *random)
{
	uint64_t block;

	if (!varies(files->job))
		return file->order[file->next++];
	block = next_free(file->order, draw_below(random, files->blocks));
	return block < files->blocks ? block : next_free(file->order, 0);
}

/*
 * In sequence, with seq_add bytes between requests, as fio: the first is at the
 * beginning, and what passes an end goes on at the other.
 */
static uint64_t sequence_offset(const struct files *files, struct file *file,
				enum way way, uint64_t bytes)
{
	const struct job *job = files->job;
	uint64_t all = files->bytes, at = file->at[way];

	if (at && job->seq_add) {
		int64_t next = (int64_t)at + job->seq_add;

		if (next < 0)
			next = (int64_t)all + job->seq_add;
		else if (next >= (int64_t)all)
			next = job->seq_add > 0 ? 0
						: (int64_t)all + job->seq_add;
		at = (uint64_t)next;
	}
	return at + bytes > all ? 0 : at;
}

/* A size as bsrange or bssplit have it, that fits @room. */
static uint64_t draw_size(const struct job *job, enum way way, uint64_t *random,
			  uint64_t room)
{
	const struct shares *split = &job->bssplit[way];
	uint64_t least = job->bs.of[way], most = job->bs_max.of[way], bytes;

	do {
		if (!split->count) {
			bytes = least + draw_below(random, most);
			bytes -= bytes % least;
			bytes = bytes > most ? most : bytes;
		} else {
			uint64_t percent = draw_below(random, 100), below = 0;

			bytes = 0;
			for (uint64_t i = 0; i < split->count; i++) {
				below += split->all[i].percent;
				bytes = split->all[i].value;
				if (percent < below && bytes <= room)
					break;
			}
		}
	} while (bytes > room);
	return bytes;
}

/* Takes up to @count blocks, until one that has come. */
static uint64_t take_blocks(uint64_t *order, uint64_t block, uint64_t count)
{
	uint64_t taken = 0;

	for (; taken < count && order[block] == block; taken++, block++)
		order[block] = block + 1;
	return taken;
}

/* Bytes of the request at @offset; of a map, up to a block that has come. */
static uint64_t next_size(const struct files *files, struct file *file,
			  enum way way, uint64_t *random, uint64_t offset)
{
	const struct job *job = files->job;
	uint64_t unit = job_unit(job), bytes = job->bs.of[way];
	bool mapped = varies(job) && job_random(job) && !job->norandommap;
	uint64_t end = mapped ? files->blocks * unit : files->bytes;

	if (job_varies(job, way))
		bytes = draw_size(job, way, random, end - offset);
	if (!mapped)
		return bytes;
	return take_blocks(file->order, offset / unit, bytes / unit) * unit;
}

struct place place_next(const struct files *files, struct file *file,
			enum way way, uint64_t *random)
{
	const struct job *job = files->job;
	uint64_t least = job->bs.of[way];
	struct place place;

	if (job_random(job) && job->norandommap)
		place.offset = draw_offset(files, random, least);
	else if (job_random(job))
		place.offset = map_block(files, file, random) * job_unit(job);
	else
		place.offset = sequence_offset(files, file, way, least);
	place.bytes = next_size(files, file, way, random, place.offset);
	file->at[way] = place.offset + place.bytes;
	return place;
}
