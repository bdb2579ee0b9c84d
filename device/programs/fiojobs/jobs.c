// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs of a file; see jobs.h. */
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "diag.h"
#include "jobs.h"
#include "settings.h"

#define MOST	 1e15
#define BS_MOST	 (16 << 20)
#define AT(name) offsetof(struct job, name)
#define COUNT(name, min, max)   \
	{.words = #name,        \
	 .usage = "N",          \
	 .kind = SETTING_COUNT, \
	 .offset = AT(name),    \
	 min,                   \
	 max}
#define CHOICE(name, usage_, choices_) \
	{.words = #name,               \
	 .usage = usage_,              \
	 .kind = SETTING_CHOICE,       \
	 .offset = AT(name),           \
	 .choices = choices_}
#define PAIR(name, max)                                                       \
	static char *parse_##name(void *config, const char *value)            \
	{                                                                     \
		return parse_pair(&((struct job *)config)->name, value, max); \
	}

static const char *const ways[] = {"read", "write",  "randread", "randwrite",
				   "rw",   "randrw", NULL};
static const char *const syncs[] = {"none", "sync", "dsync", NULL};
static const char *const hints[] = {"0", "1", "random", "sequential", NULL};
static const char *const fallocates[] = {"none", "native", NULL};
static const char *const services[] = {"roundrobin", "sequential", NULL};
static const char *const exits[] = {"group", "stonewall", NULL};
static const char *const engines[] = {"psync", "sync", NULL};

/* "4096", or one for reads and one for writes: "4096,512". */
static char *parse_pair(struct pair *pair, const char *value, double max)
{
	const char *comma = strchr(value, ',');
	unsigned long long count[WAYS];
	char *first = text("%.*s", comma ? (int)(comma - value) : 99, value);
	char *wrong = parse_count(first, 0, max, &count[WAY_READ]);

	free(first);
	count[WAY_WRITE] = count[WAY_READ];
	if (!wrong && comma)
		wrong = parse_count(comma + 1, 0, max, &count[WAY_WRITE]);
	if (!wrong)
		for (int way = 0; way < WAYS; way++)
			pair->of[way] = count[way];
	return wrong;
}

/* "4096/10:8192/90": values with their percent. */
static char *parse_shares(struct shares *shares, const char *value, double max)
{
	char *copy = text("%s", value), *rest = copy, *word, *wrong = NULL;
	unsigned long long number, percent;

	shares->count = 0;
	while (!wrong && (word = strsep(&rest, ":"))) {
		char *slash = strchr(word, '/');

		if (!slash || shares->count == SHARES_MAX) {
			wrong = text("'%s' is not up to %d VALUE/PERCENT",
				     value, SHARES_MAX);
			break;
		}
		*slash = '\0';
		wrong = parse_count(word, 1, max, &number);
		if (!wrong)
			wrong = parse_count(slash + 1, 1, 100, &percent);
		if (wrong)
			break;
		shares->all[shares->count].value = number;
		shares->all[shares->count++].percent = percent;
	}
	free(copy);
	return wrong;
}

static void take_sizes(struct job *job, int way)
{
	const struct shares *split = &job->bssplit[way];

	job->bs.of[way] = job->bs_max.of[way] = split->all[0].value;
	for (uint64_t i = 1; i < split->count; i++) {
		uint64_t bytes = split->all[i].value;

		if (bytes < job->bs.of[way])
			job->bs.of[way] = bytes;
		if (bytes > job->bs_max.of[way])
			job->bs_max.of[way] = bytes;
	}
}

/* "4096/10:8192/90", or one for reads and one for writes after a comma. */
static char *parse_bssplit(void *config, const char *value)
{
	struct job *job = config;
	const char *comma = strchr(value, ',');
	char *first = text(
		"%.*s", (int)(comma ? (size_t)(comma - value) : strlen(value)),
		value);
	char *wrong = parse_shares(&job->bssplit[WAY_READ], first, BS_MOST);

	free(first);
	if (!wrong)
		wrong = parse_shares(&job->bssplit[WAY_WRITE],
				     comma ? comma + 1 : value, BS_MOST);
	for (int way = 0; way < WAYS && !wrong; way++)
		take_sizes(job, way);
	return wrong;
}

static char *parse_zones(void *config, const char *value)
{
	return parse_shares(&((struct job *)config)->zones, value, 100);
}

PAIR(bs, BS_MOST)
PAIR(bs_max, BS_MOST)
PAIR(rate, MOST)
PAIR(rate_iops, MOST)

static const struct setting settings[] = {
	CHOICE(rw, "read|write|randread|randwrite|rw|randrw", ways),
	COUNT(rwmixread, 0, 100),
	{.words = "bs",
	 .usage = "BYTES[,BYTES]",
	 .kind = SETTING_OWN,
	 .parse = parse_bs},
	{.words = "bs_max",
	 .usage = "BYTES[,BYTES]",
	 .kind = SETTING_OWN,
	 .parse = parse_bs_max},
	{.words = "bssplit",
	 .usage = "BYTES/PERCENT:...[,BYTES/PERCENT:...]",
	 .kind = SETTING_OWN,
	 .parse = parse_bssplit},
	{.words = "zones",
	 .usage = "PERCENT/PERCENT:...",
	 .kind = SETTING_OWN,
	 .parse = parse_zones},
	COUNT(blockalign, 0, BS_MOST),
	{.words = "seq_add",
	 .usage = "BYTES",
	 .kind = SETTING_INT,
	 .offset = AT(seq_add),
	 .min = -1e9,
	 .max = 1e9},
	COUNT(offset, 0, MOST),
	COUNT(number_ios, 0, MOST),
	COUNT(size, 1, MOST),
	COUNT(io_size, 0, MOST),
	COUNT(nrfiles, 1, 100000),
	{.words = "filename",
	 .usage = "NAME",
	 .kind = SETTING_TEXT,
	 .offset = AT(filename)},
	CHOICE(file_service_type, "roundrobin|sequential", services),
	COUNT(fsync, 0, MOST),
	COUNT(fdatasync, 0, MOST),
	COUNT(end_fsync, 0, 1),
	COUNT(fsync_on_close, 0, 1),
	CHOICE(sync, "none|sync|dsync", syncs),
	COUNT(direct, 0, 1),
	COUNT(invalidate, 0, 1),
	CHOICE(fadvise_hint, "0|1|random|sequential", hints),
	CHOICE(fallocate, "none|native", fallocates),
	COUNT(overwrite, 0, 1),
	COUNT(unlink, 0, 1),
	{.words = "rate",
	 .usage = "BYTES[,BYTES]",
	 .kind = SETTING_OWN,
	 .parse = parse_rate},
	{.words = "rate_iops",
	 .usage = "N[,N]",
	 .kind = SETTING_OWN,
	 .parse = parse_rate_iops},
	COUNT(thinktime, 0, 1e9),
	COUNT(thinktime_blocks, 1, MOST),
	COUNT(startdelay, 0, 86400),
	COUNT(runtime, 0, 86400),
	COUNT(time_based, 0, 1),
	COUNT(loops, 1, 1e6),
	COUNT(numjobs, 1, 64),
	COUNT(norandommap, 0, 1),
	COUNT(randseed, 0, 1e15),
	COUNT(buffer_compress_percentage, 0, 100),
	CHOICE(ioengine, "psync|sync", engines),
	COUNT(stonewall, 0, 1),
	COUNT(exitall, 0, 1),
	CHOICE(exit_what, "group|stonewall", exits),
	COUNT(exit_group, 0, MOST),
};

static struct job *add(struct jobs *jobs, const char *name, size_t length,
		       int line)
{
	size_t size = (jobs->count + 1) * sizeof(*jobs->all);
	struct job *grown = realloc(jobs->all, size);

	if (!grown) {
		fail("out of memory for %zu jobs", jobs->count + 1);
		exit(EXIT_RUN_FAILED);
	}
	jobs->all = grown;
	grown += jobs->count++;
	*grown = (struct job){
		.name = text("%.*s", (int)length, name),
		.line = line,
		.rwmixread = 50,
		.bs = {{4096, 4096}},
		.nrfiles = 1,
		.invalidate = 1,
		.fadvise_hint = HINT_BY_RW,
		.fallocate = 1,
		.thinktime_blocks = 1,
		.loops = 1,
		.numjobs = 1,
		.randseed = 1,
	};
	return grown;
}

static uint64_t sum_values(const struct shares *shares)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < shares->count; i++)
		sum += shares->all[i].value;
	return sum;
}

/* What is wrong with a job as a whole, for the caller to free; NULL: nothing.
 */
static char *misfit(const struct job *job)
{
	const struct pair *bs = &job->bs, *bs_max = &job->bs_max;
	uint64_t file = job_file_bytes(job);

	if (!job->size)
		return text("size is missing: bytes of all its files");
	if (!bs->of[WAY_READ] || !bs->of[WAY_WRITE])
		return text("bs is 0");
	for (int way = 0; way < WAYS; way++)
		if ((way == WAY_READ ? job_reads(job) : job_writes(job)) &&
		    bs_max->of[way] > file)
			return text("bs %llu is more than a file's %llu bytes",
				    (unsigned long long)bs_max->of[way],
				    (unsigned long long)file);
	if (job->filename && (job->nrfiles > 1 || strchr(job->filename, '/')))
		return text("filename names one file, without a folder");
	if (job->zones.count && sum_values(&job->zones) != 100)
		return text("zones are 100 percent of a file together");
	if (job->time_based && !job->runtime)
		return text("time_based needs a runtime");
	if (job->rw == RW_RANDMIXED && !job->norandommap &&
	    bs->of[WAY_READ] != bs->of[WAY_WRITE])
		return text("a random mix of two block sizes needs "
			    "norandommap=1");
	return NULL;
}

static int refuse(const char *path, int line, char *wrong)
{
	fail("%s:%d: %s", path, line, wrong);
	free(wrong);
	return -1;
}

/* Takes one line; @job is the one it belongs to, NULL before any. */
static int take(struct jobs *jobs, struct job **job, const char *path,
		int number, char *line)
{
	size_t length = strlen(line);
	char *equals = strchr(line, '=');
	char *wrong;

	if (!length || *line == '#')
		return 0;
	if (*line == '[' && line[length - 1] == ']' && length > 2) {
		*job = add(jobs, line + 1, length - 2, number);
		return 0;
	}
	if (!*job)
		return fail("%s:%d: expected a job's [NAME]", path, number);
	if (!equals)
		return fail("%s:%d: expected KEY=VALUE", path, number);
	*equals = ' ';
	wrong = settings_apply(settings, sizeof(settings) / sizeof(*settings),
			       *job, line);
	return wrong ? refuse(path, number, wrong) : 0;
}

/* Jobs up to one with a stonewall run at once. */
static int arrange(struct jobs *jobs, const char *path)
{
	int group = 0;

	if (!jobs->count)
		return fail("%s: has no job", path);
	for (size_t i = 0; i < jobs->count; i++) {
		struct job *job = &jobs->all[i];
		char *wrong;

		for (int way = 0; way < WAYS; way++)
			if (job->bs_max.of[way] < job->bs.of[way])
				job->bs_max.of[way] = job->bs.of[way];
		wrong = misfit(job);
		if (wrong)
			return refuse(path, job->line, wrong);
		group += i && job->stonewall;
		job->group = group;
	}
	jobs->groups = group + 1;
	return 0;
}

int jobs_read(struct jobs *jobs, const char *path)
{
	char *whole = slurp(path), *rest = whole, *line;
	struct job *job = NULL;
	int number = 0, error = 0;

	if (!whole)
		return fail_errno("read", path);
	while (!error && (line = strsep(&rest, "\n")))
		error = take(jobs, &job, path, ++number, line);
	free(whole);
	return error ? -1 : arrange(jobs, path);
}

void jobs_free(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		free(jobs->all[i].name);
		free(jobs->all[i].filename);
	}
	free(jobs->all);
}
