// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device's journal: records are appended to one file, each synced, then the
 * file is read from its begin. Tells two phases and two kinds of operation.
 *
 *   journal FOLDER RECORDS BYTES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "latency.h"
#include "pagecache.h"

struct phase {
	const char *name;
	const char *kind;
	struct latency latency;
	struct flash_counters before, after;
	uint64_t ns;
};

static uint64_t whole(const char *word, const char *what)
{
	char *end;
	uint64_t value = strtoull(word, &end, 10);

	if (*end || !value) {
		fail("%s is %s; give a whole number above 0", what, word);
		exit(EXIT_USAGE);
	}
	return value;
}

/* Moves every record once, and times each. */
static int play(struct phase *phase, const char *path, int fd, char *record,
		size_t bytes, uint64_t records, int appends)
{
	uint64_t began, start = now_ns();

	flash_read_counters(FLASHSTAT_DIRECTORY, &phase->before);
	for (uint64_t i = 0; i < records; i++) {
		began = now_ns();
		if (appends ? checked_write(fd, record, bytes, path) ||
				      checked_fsync(fd, path)
			    : checked_read(fd, record, bytes, path) < 0)
			return -1;
		latency_add(&phase->latency, now_ns() - began);
	}
	phase->ns = now_ns() - start;
	flash_read_counters(FLASHSTAT_DIRECTORY, &phase->after);
	return latency_sort(&phase->latency);
}

static void tell_phase(struct json *json, const struct phase *phase,
		       uint64_t records)
{
	const struct flash_counters *a = &phase->before, *b = &phase->after;

	json_object(json, NULL);
	json_text(json, "name", phase->name);
	json_count(json, "ns", phase->ns);
	json_object(json, "operations");
	json_count(json, phase->kind, records);
	json_end(json);
	json_object(json, "chip");
	json_count(json, "reads", flash_delta(b->reads, a->reads));
	json_count(json, "programs", flash_delta(b->programs, a->programs));
	json_count(json, "erases", flash_delta(b->erases, a->erases));
	json_end(json);
	json_end(json);
}

static int tell(struct phase *phases, uint64_t records, size_t bytes)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_array(&json, "phases");
	for (int i = 0; i < 2; i++)
		tell_phase(&json, &phases[i], records);
	json_end(&json);
	json_object(&json, "operations");
	for (int i = 0; i < 2; i++)
		json_count(&json, phases[i].kind, records);
	json_end(&json);
	json_object(&json, "bytes");
	json_count(&json, "written", records * bytes);
	json_count(&json, "read", records * bytes);
	json_end(&json);
	json_object(&json, "latency_ns");
	for (int i = 0; i < 2; i++)
		latency_json(&json, phases[i].kind, &phases[i].latency);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct phase phases[] = {
		{.name = "appending", .kind = "append"},
		{.name = "replaying", .kind = "replay"},
	};
	uint64_t records;
	char *path, *record;
	size_t bytes;
	int fd;

	diag_program = "journal";
	if (argc != 4) {
		fail("give FOLDER RECORDS BYTES");
		return EXIT_USAGE;
	}
	records = whole(argv[2], "RECORDS");
	bytes = whole(argv[3], "BYTES");
	path = text("%s/journal", argv[1]);
	record = allocate(bytes, 1, "a record");
	memset(record, 'j', bytes);
	for (int i = 0; i < 2; i++)
		latency_open(&phases[i].latency, records);
	fd = checked_open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || play(&phases[0], path, fd, record, bytes, records, 1) ||
	    checked_close(fd, path) || pagecache_drop(PAGECACHE_CONTROL))
		return EXIT_RUN_FAILED;
	fd = checked_open(path, O_RDONLY, 0);
	if (fd < 0 || play(&phases[1], path, fd, record, bytes, records, 0) ||
	    checked_close(fd, path))
		return EXIT_RUN_FAILED;
	return tell(phases, records, bytes) ? EXIT_RUN_FAILED : EXIT_OK;
}
