// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fileload: loads that files are under for long, each made to wear one weakness
 * of a flash file system: small updates of a large file, hot and cold data by
 * turns, files that change beside files that stay, all written and all deleted.
 *
 * Every system call on the files is timed and counted. The last line of stdout
 * is one JSON object (docs/fileload.md); it is told after a failure too, with
 * what was done before. What is synced is asked for: by default, nothing is.
 *
 * Needs only a folder. Costs two clock readings and 8 bytes of memory a call, 8
 * bytes a file, and 64 KiB of data. Reads the chip's statistics (--flash) at
 * begin and end of each part, if there are any.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diag.h"
#include "json.h"
#include "load.h"
#include "looks.h"
#include "takes.h"
#include "options.h"
#include "stop.h"

#define COUNT_MOST 1000000000
#define TOTAL_MOST 1e15
#define SEED_MOST  9e15

enum given {
	COUNT = 1,
	BYTES = 2,
	OPEN = 4,
	BIG_STEP = 8,
	SMALL = 16,
	STEPS = 32,
	ROUNDS = 64,
	FILES = 128,
	SIZE = 256,
	TOTAL = 512,
	HOW = 1024,
	AT = 2048,
};

static const char *const given_names[] = {
	"count",  "bytes", "open", "big-step", "small", "steps",
	"rounds", "files", "size", "total",    "how",	"at",
};

static const struct command_decl commands[] = {
	{"update", "FILE", NULL, COUNT | BYTES, OPEN | AT},
	{"interleave", "BIG", "SMALL", STEPS | ROUNDS, BIG_STEP | SMALL | OPEN},
	{"rewrite", "DIR", NULL, FILES | SIZE | TOTAL, HOW},
	{"cycle", "DIR", NULL, FILES | SIZE | ROUNDS, 0},
};
static command *const runs[] = {update_run, interleave_run, rewrite_run,
				cycle_run};

#define COMMANDS (sizeof(commands) / sizeof(*commands))
#define ABOUT                                                                  \
	"Keeps files under a load. Times and counts each system call; the "    \
	"last line is JSON.\n\n"                                               \
	"  fileload update FILE --count N --bytes B [--open once|each]\n"      \
	"           [--at any-byte|multiple|shuffled]\n"                       \
	"      overwrites B bytes N times, at random places of FILE, which "   \
	"is there\n"                                                           \
	"  fileload interleave BIG SMALL --steps N --rounds N [--big-step B]"  \
	"\n           [--small B] [--open once|each]\n"                        \
	"      makes BIG in N steps, writes all of SMALL after each; then "    \
	"overwrites\n      BIG in the same steps, SMALL after each, for N "    \
	"rounds\n"                                                             \
	"  fileload rewrite DIR --files N --size X --total B [--how HOW]\n"    \
	"      makes N files in DIR, then writes some at random anew, whole, " \
	"until B\n      bytes are written\n"                                   \
	"  fileload cycle DIR --files N --size X --rounds N\n"                 \
	"      makes N files in DIR and deletes them, for N rounds\n\n"        \
	"X is a number, norm(MEAN,DEVIATION), uniform(LEAST,MOST),\n"          \
	"lognormal(MEDIAN,SIGMA), pow2(LEAST,MOST) or "                        \
	"table(SIZE:COUNT,SIZE:COUNT,...).\n"                                  \
	"Nothing is synced unless you ask for it. Equal seeds give equal "     \
	"bytes.\n\n"                                                           \
	"Many small updates of a file of 16 MiB, then what JFFS2 holds for "   \
	"it:\n"                                                                \
	"  filetree make d --depth 1 --dirs 0 --files 1 --size 16777216 "      \
	"--seed 1\n"                                                           \
	"  fileload update d/f0000 --count 100000 --bytes 10\n"                \
	"Hot and cold data in the same blocks of 16 KiB, 100 MiB of cold:\n"   \
	"  fileload interleave big small --steps 10240 --rounds 9\n"           \
	"Few files that change, beside whatever stays:\n"                      \
	"  fileload rewrite hot --files 24 --size 'uniform(1024,32768)' "      \
	"--total 1000000000"

/* What the options walk fills in. */
struct invocation {
	struct request request;
	struct command_line line;
};

static struct request *asked(void *context, unsigned int option)
{
	struct invocation *invocation = context;

	invocation->line.given |= option;
	return &invocation->request;
}

#define TAKE(field, name, option, least, most)                                 \
	static int on_##field(void *context, const char *value)                \
	{                                                                      \
		return take_count(&asked(context, option)->field, name, value, \
				  least, most);                                \
	}

TAKE(count, "count", COUNT, 1, COUNT_MOST)
TAKE(bytes, "bytes", BYTES, 1, BYTES_MOST)
TAKE(big_step, "big-step", BIG_STEP, 1, BYTES_MOST)
TAKE(small_bytes, "small", SMALL, 1, BYTES_MOST)
TAKE(steps, "steps", STEPS, 1, COUNT_MOST)
TAKE(rounds, "rounds", ROUNDS, 1, COUNT_MOST)
TAKE(files, "files", FILES, 1, FILES_MOST)
TAKE(total, "total", TOTAL, 1, TOTAL_MOST)
TAKE(fsync_every, "fsync-every", 0, 0, COUNT_MOST)
TAKE(seed, "seed", 0, 0, SEED_MOST)

static int on_size(void *context, const char *value)
{
	return draw_take(&asked(context, SIZE)->size, "size", value);
}

static int on_payload(void *context, const char *value)
{
	return take_choice(&asked(context, 0)->payload, "payload", value,
			   payload_names);
}

static int on_compressibility(void *context, const char *value)
{
	return take_share(&asked(context, 0)->compressibility,
			  "compressibility", value);
}

static int on_flash(void *context, const char *value)
{
	asked(context, 0)->flash = value;
	return 0;
}

static const char *const opens[] = {"once", "each", NULL};

static int on_open(void *context, const char *value)
{
	return take_choice(&asked(context, OPEN)->each, "open", value, opens);
}

static const char *const places[] = {"any-byte", "multiple", "shuffled", NULL};

static int on_at(void *context, const char *value)
{
	return take_choice(&asked(context, AT)->at, "at", value, places);
}

static const char *const ways[] = {"truncate", "overwrite", NULL};

static int on_how(void *context, const char *value)
{
	return take_choice(&asked(context, HOW)->overwrite, "how", value, ways);
}

static int on_sync(void *context, const char *value)
{
	(void)value;
	asked(context, 0)->sync = true;
	return 0;
}

static int on_word(void *context, const char *value)
{
	struct invocation *invocation = context;
	struct request *request = &invocation->request;
	struct command_line *line = &invocation->line;
	const char **words[] = {&request->command, &request->place,
				&request->small};

	if (line->words == sizeof(words) / sizeof(*words))
		return fail("'%s' is one argument too many; see --help", value);
	*words[line->words++] = value;
	line->name = request->command;
	line->last = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "COMMAND FILE|BIG|DIR [SMALL]", "what to do, and with what",
	 on_word},
	{"count", "N", "update: how many updates", on_count},
	{"bytes", "B", "update: bytes of each, the file's at the most",
	 on_bytes},
	{"open", "once|each",
	 "update, interleave: files are opened once, or for each write (once)",
	 on_open},
	{"at", "any-byte|multiple|shuffled",
	 "update: from any byte, from any multiple of B, or from the first N "
	 "multiples, each once: FILE may be shorter (any-byte)",
	 on_at},
	{"steps", "N", "interleave: writes that BIG is made of", on_steps},
	{"big-step", "B", "interleave: bytes of each (10240)", on_big_step},
	{"small", "B", "interleave: bytes of SMALL (6144)", on_small_bytes},
	{"rounds", "N",
	 "interleave: times that BIG is overwritten; cycle: rounds", on_rounds},
	{"files", "N", "rewrite, cycle: files, f0000 f0001 ...", on_files},
	{"size", "X", "rewrite, cycle: bytes of each file, drawn once",
	 on_size},
	{"total", "B", "rewrite: bytes to write, those of the making not among",
	 on_total},
	{"how", "truncate|overwrite",
	 "rewrite: a file is emptied before, or written over (truncate)",
	 on_how},
	{"fsync-every", "N",
	 "fsync(2) after each N updates, steps or files; 0: never (0)",
	 on_fsync_every},
	{"sync", NULL,
	 "sync the file system after each phase, which tells it apart",
	 on_sync},
	{"seed", "N", "of all that is drawn and of the data (1)", on_seed},
	{"payload", "random|postmark", "values of the data's bytes (random)",
	 on_payload},
	{"compressibility", "C", "share 0..1 of the data that is zeros (0)",
	 on_compressibility},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
};

static uint64_t written(const struct load *load)
{
	uint64_t all = 0;

	for (int i = 0; i < load->parts_begun; i++)
		all += load->parts[i].written;
	return all;
}

static int tell_parts(struct json *json, struct load *load)
{
	int error = 0;

	json_array(json, "phases");
	for (int i = 0; i < load->parts_begun; i++)
		part_json(json, &load->parts[i]);
	json_end(json);
	json_object(json, "operations");
	for (int i = 0; i < load->parts_begun; i++)
		part_operations_json(json, &load->parts[i]);
	json_end(json);
	json_object(json, "latency_ns");
	for (int i = 0; i < load->parts_begun && !error; i++)
		error = part_latencies_json(json, &load->parts[i]);
	json_end(json);
	return error;
}

static int tell(struct load *load, const struct look *before,
		const struct look *after)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "fileload");
	json_text(&json, "command", load->request->command);
	if (tell_parts(&json, load))
		return -1;
	json_object(&json, "bytes");
	json_count(&json, "read", 0);
	json_count(&json, "written", written(load));
	json_end(&json);
	json_object(&json, "figures");
	json_count(&json, "file_bytes", load->held);
	json_end(&json);
	look_blocks_json(&json, before, after);
	json_end(&json);
	return json_finish(&json);
}

static int run(struct request *request, command *act)
{
	struct load load = {0};
	struct look before = {0}, after = {0};
	int code = EXIT_RUN_FAILED;

	stop_watch();
	if (!look_at(&before, request->flash))
		code = act(request, &load);
	if (stop_wanted())
		fail("stopped by signal %d", stop_wanted());
	if (code == EXIT_RUN_FAILED && load.parts_begun)
		fail("%llu bytes were written before; what was made stays",
		     (unsigned long long)written(&load));
	if (load.parts_begun &&
	    (look_at(&after, request->flash) || tell(&load, &before, &after)))
		code = EXIT_RUN_FAILED;
	load_close(&load);
	look_free(&before);
	look_free(&after);
	return stop_wanted() ? EXIT_BY_SIGNAL + stop_wanted() : code;
}

int main(int argc, char **argv)
{
	struct invocation invocation = {
		.request.seed = 1,
		.request.big_step = 10240,
		.request.small_bytes = 6144,
		.request.flash = FLASHSTAT_DIRECTORY,
	};
	int command, status = EXIT_USAGE;
	bool helped;

	(void)argc;
	diag_program = "fileload";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &invocation, "COMMAND PLACE [OPTION...]", ABOUT,
			 &helped)) {
		status = helped ? EXIT_OK : EXIT_USAGE;
	} else {
		command =
			commands_find(commands, COMMANDS, invocation.line.name);
		if (command >= 0 &&
		    !commands_check(&commands[command], &invocation.line,
				    given_names,
				    sizeof(given_names) / sizeof(*given_names)))
			status = run(&invocation.request, runs[command]);
	}
	draw_free(&invocation.request.size);
	return status;
}
