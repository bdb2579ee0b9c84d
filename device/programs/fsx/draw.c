// SPDX-License-Identifier: GPL-2.0-or-later
/* Which operation comes next, and where; see fsx.h. */
#include "fsx.h"
#include "payload.h"

#define PAGE 4096

const char *const kind_names[KINDS] = {
	[READ] = "read",     [MAP_READ] = "map-read",	[WRITE] = "write",
	[APPEND] = "append", [MAP_WRITE] = "map-write", [SHRINK] = "shrink",
	[GROW] = "grow",     [SYNC] = "sync",		[REOPEN] = "reopen",
	[DROP] = "drop",     [REMOUNT] = "remount",
};

/* How often each is drawn, relative to the sum of all. */
static const unsigned int weights[KINDS] = {
	[READ] = 200,	  [MAP_READ] = 120, [WRITE] = 260,  [APPEND] = 80,
	[MAP_WRITE] = 80, [SHRINK] = 60,    [GROW] = 60,    [SYNC] = 50,
	[REOPEN] = 50,	  [DROP] = 30,	    [REMOUNT] = 10,
};

uint64_t below(struct subject *s, uint64_t limit)
{
	return limit ? payload_draw(&s->random) % limit : 0;
}

static enum kind draw_kind(struct subject *s)
{
	unsigned int sum = 0, at;
	int kind = 0;

	for (int i = 0; i < KINDS; i++)
		sum += weights[i];
	at = (unsigned int)below(s, sum);
	while (at >= weights[kind])
		at -= weights[kind++];
	return (enum kind)kind;
}

/* A size from 1 to @largest; small ones are drawn more often. */
static uint64_t draw_size(struct subject *s, uint64_t largest)
{
	uint64_t limit = largest;

	while (limit > 8 && below(s, 2))
		limit /= 4;
	return 1 + below(s, limit);
}

/* Draw a range within the file. False: the file is empty. */
static bool draw_within(struct subject *s)
{
	uint64_t left;

	if (!s->size)
		return false;
	s->now.at = below(s, s->size);
	if (!below(s, 4))
		s->now.at -= s->now.at % PAGE;
	left = s->size - s->now.at;
	s->now.size = draw_size(s, s->request->largest_piece);
	if (s->now.size > left || !below(s, 8))
		s->now.size = left < s->request->largest_piece
				      ? left
				      : s->request->largest_piece;
	return true;
}

bool draw(struct subject *s)
{
	uint64_t largest = s->request->largest_file;

	s->now.kind = draw_kind(s);
	s->now.at = 0;
	s->now.size = 0;
	switch (s->now.kind) {
	case READ:
	case MAP_READ:
	case MAP_WRITE:
		return draw_within(s);
	case WRITE: /* may leave a hole after the old end */
		s->now.size = draw_size(s, s->request->largest_piece);
		s->now.at = below(s, below(s, 8) ? s->size + 1 : largest);
		break;
	case APPEND:
		s->now.size = draw_size(s, s->request->largest_piece);
		s->now.at = s->size;
		break;
	case SHRINK:
		if (!s->size)
			return false;
		s->now.size = below(s, s->size);
		break;
	case GROW:
		s->now.size = s->size + draw_size(s, largest / 4);
		break;
	case REMOUNT:
		return s->request->remount;
	default:
		break;
	}
	return s->now.at + s->now.size <= largest;
}
