// SPDX-License-Identifier: GPL-2.0-or-later
/* Phases and latencies; see measure.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "measure.h"

void measured_open(struct measured *measured, const struct request *request,
		   size_t phases, size_t kinds)
{
	memset(measured, 0, sizeof(*measured));
	measured->request = request;
	measured->phases =
		allocate(phases, sizeof(*measured->phases), "the phases");
	measured->room = phases;
	measured->kinds =
		allocate(kinds, sizeof(*measured->kinds), "the latencies");
	measured->kind_room = kinds;
}

void measured_close(struct measured *measured)
{
	for (size_t i = 0; i < measured->count; i++)
		free(measured->phases[i].name);
	for (size_t i = 0; i < measured->kind_count; i++) {
		latency_close(&measured->kinds[i].latency);
		free(measured->kinds[i].name);
	}
	free(measured->phases);
	free(measured->kinds);
	flash_free_blocks(&measured->before);
	flash_free_blocks(&measured->after);
	warnings_close(&measured->warnings);
}

static struct mark mark(const struct request *request)
{
	struct mark now = {0};

	now.flash = !flash_read_counters(request->flash, &now.counters);
	now.usage = usage_now();
	return now;
}

struct phase *phase_begin(struct measured *measured, char *name)
{
	struct phase *phase = &measured->phases[measured->count++];

	phase->name = name;
	phase->sync_ns = COUNT_MISSING;
	phase->before = mark(measured->request);
	phase->began = now_ns();
	return phase;
}

void phase_end(struct phase *phase, const struct measured *measured)
{
	phase->ns = now_ns() - phase->began;
	phase->after = mark(measured->request);
}

int phase_end_synced(struct phase *phase, const struct measured *measured)
{
	phase_end(phase, measured);
	phase->done = phase->after;
	phase->began = now_ns();
	if (checked_syncfs(measured->request->folder))
		return -1;
	phase->sync_ns = now_ns() - phase->began;
	phase->after = mark(measured->request);
	return 0;
}

void phase_made(struct phase *phase, const char *kind, uint64_t made)
{
	phase->counts[phase->kinds].name = kind;
	phase->counts[phase->kinds++].made = made;
}

struct latency *measured_kind(struct measured *measured, char *name,
			      uint64_t room)
{
	struct kind *kind = &measured->kinds[measured->kind_count++];

	kind->name = name;
	latency_open(&kind->latency, room);
	return &kind->latency;
}

void measured_blocks(struct measured *measured, bool first)
{
	const char *flash = measured->request->flash;

	if (first)
		measured->blocks = !flash_read_blocks(flash, &measured->before);
	else if (measured->blocks)
		measured->blocks = !flash_read_blocks(flash, &measured->after);
}

int measured_sort(struct measured *measured)
{
	for (size_t i = 0; i < measured->kind_count; i++)
		if (latency_sort(&measured->kinds[i].latency))
			return -1;
	return 0;
}

int forget(const struct request *request)
{
	const char *what = request->drop == DROP_PAGES ? "1\n" : "3\n";
	const char *control = request->control;
	int fd, error;

	if (request->drop == DROP_NONE)
		return 0;
	sync();
	fd = checked_open(control, O_WRONLY, 0);
	if (fd < 0)
		return fail("the kernel's caches were not dropped: be root, "
			    "or give --drop none");
	error = checked_write(fd, what, 2, control);
	return checked_close(fd, control) ? -1 : error;
}
