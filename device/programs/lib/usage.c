// SPDX-License-Identifier: GPL-2.0-or-later
/* Processor's idle time and the chip's counts; see usage.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "usage.h"

#define IDLE_STATES "/sys/devices/system/cpu/cpu0/cpuidle"
#define NS_PER_US   1000u

static const struct {
	const char *line; /* its name among the driver's counters */
	const char *key;  /* its name in JSON */
	size_t offset;
} counts[] = {
	{"busy_ns", "busy_ns", offsetof(struct usage, busy_ns)},
	{"warped_ns", "warped_ns", offsetof(struct usage, warped_ns)},
	{"bytes_read", "bytes_read", offsetof(struct usage, bytes_read)},
	{"bytes_written", "bytes_written",
	 offsetof(struct usage, bytes_written)},
	{"buffer_hits", "register_hits", offsetof(struct usage, register_hits)},
};

#define COUNTS (sizeof(counts) / sizeof(*counts))

static uint64_t *member(struct usage *usage, size_t i)
{
	return (uint64_t *)((char *)usage + counts[i].offset);
}

static uint64_t member_of(const struct usage *usage, size_t i)
{
	return *(const uint64_t *)((const char *)usage + counts[i].offset);
}

/* The whole number at the start of @at; COUNT_MISSING if there is none. */
static uint64_t number(const char *at)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(at, &end, 10);
	return errno || end == at ? COUNT_MISSING : value;
}

/* Time in all idle states, as the kernel counts it: us. */
static uint64_t idle_us(void)
{
	uint64_t sum = COUNT_MISSING;

	for (int state = 0;; state++) {
		char *path = text(IDLE_STATES "/state%d/time", state);
		char *content = slurp(path);
		uint64_t us = content ? number(content) : COUNT_MISSING;

		free(content);
		free(path);
		if (us == COUNT_MISSING)
			return sum;
		sum = sum == COUNT_MISSING ? us : sum + us;
	}
}

static void take(struct usage *usage, const char *line)
{
	size_t length = strcspn(line, " ");

	for (size_t i = 0; i < COUNTS; i++)
		if (strlen(counts[i].line) == length &&
		    !memcmp(counts[i].line, line, length))
			*member(usage, i) = number(line + length);
}

struct usage usage_now(void)
{
	uint64_t us = idle_us();
	struct usage usage;
	char *content = slurp(FLASHSTAT_DIRECTORY "/counters");
	char *rest = content;
	char *line;

	usage.idle_ns = us == COUNT_MISSING ? us : us * NS_PER_US;
	for (size_t i = 0; i < COUNTS; i++)
		*member(&usage, i) = COUNT_MISSING;
	while (rest && (line = strsep(&rest, "\n")))
		take(&usage, line);
	free(content);
	return usage;
}

void usage_json(struct json *json, const char *key, const struct usage *before,
		const struct usage *after)
{
	json_object(json, key);
	json_count(json, "idle_ns",
		   flash_delta(after->idle_ns, before->idle_ns));
	for (size_t i = 0; i < COUNTS; i++)
		json_count(
			json, counts[i].key,
			flash_delta(member_of(after, i), member_of(before, i)));
	json_end(json);
}
