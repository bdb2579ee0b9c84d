// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filetree: makes a tree of folders and files from distributions, lists it,
 * finds in it, reads it, deletes it; fills a file system with one file.
 *
 * Every system call on the tree is timed and counted. The last line of stdout
 * is one JSON object (docs/filetree.md); it is told after a failure too, with
 * what was done before.
 *
 * Needs only a folder. Costs two clock readings and 8 bytes of memory a call,
 * the names of the folders from the top to where a walk is, 64 KiB of data and
 * a table of 64 KiB.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "commands.h"
#include "diag.h"
#include "json.h"
#include "options.h"
#include "stop.h"
#include "takes.h"

#define DEPTH_MOST 2048 /* more do not fit in a path */
#define SEED_MOST  9e15

enum given {
	DEPTH = 1,
	DIRS = 2,
	FILES = 4,
	SIZE = 8,
	SEED = 16,
	PAYLOAD = 32,
	COMPRESSIBILITY = 64,
	DRY_RUN = 128,
	DIGEST = 256,
	LIST = 512,
	KEEP_TOP = 1024,
	SHARE = 2048,
	NAMES = 4096,
};

static const char *const given_names[] = {
	"depth",	   "dirs",    "files",	"size", "seed",	    "payload",
	"compressibility", "dry-run", "digest", "list", "keep-top", "share",
	"names",
};

static const struct command_decl commands[] = {
	{"make", "DIR", NULL, DEPTH | DIRS | FILES | SIZE | SEED,
	 NAMES | PAYLOAD | COMPRESSIBILITY | DRY_RUN | DIGEST},
	{"list", "DIR", NULL, 0, DIGEST},
	{"find", "DIR", "NAME", 0, 0},
	{"read", "DIR", NULL, 0, LIST},
	{"delete", "DIR", NULL, 0, KEEP_TOP},
	{"fill", "FILE", NULL, 0, SHARE | SEED | PAYLOAD | COMPRESSIBILITY},
};
static command *const runs[] = {make_run, list_run,   find_run,
				read_run, delete_run, fill_run};

#define COMMANDS (sizeof(commands) / sizeof(*commands))
#define ABOUT                                                                  \
	"Makes a tree of folders and files, lists it, finds in it, reads it, " \
	"deletes it;\nfills a file system. Times and counts each system "      \
	"call; the last line is JSON.\n\n"                                     \
	"  filetree make DIR --depth N --dirs X --files X --size X --seed N\n" \
	"           [--names f0000] [--payload P] [--compressibility C]\n"     \
	"           [--dry-run]\n"                                             \
	"  filetree list DIR [--digest]    every folder, lstat of every "      \
	"entry\n"                                                              \
	"  filetree find DIR NAME          the same; fails if NAME is there\n" \
	"  filetree read DIR [--list FILE] whole files, and the digest\n"      \
	"  filetree delete DIR [--keep-top]\n"                                 \
	"  filetree fill FILE [--share S] [--seed N] [--payload P]\n\n"        \
	"X is a number, norm(MEAN,DEVIATION), uniform(LEAST,MOST),\n"          \
	"lognormal(MEDIAN,SIGMA), pow2(LEAST,MOST) or "                        \
	"table(SIZE:COUNT,SIZE:COUNT,...).\n"                                  \
	"Draws are rounded and cut at 0; equal seeds give equal names, "       \
	"sizes and bytes.\n\n"                                                 \
	"  filetree make t --depth 5 --dirs 2 --files 64 --size 750 --seed "   \
	"1\n"                                                                  \
	"  filetree make t --depth 4 --dirs 'norm(3,1)' --files "              \
	"'uniform(2,6)' \\\n"                                                  \
	"           --size 'lognormal(1024,1.5)' --seed 7 --dry-run"

/* What the options walk fills in. */
struct invocation {
	struct request request;
	struct command_line line;
};

static struct request *asked(void *context, enum given option)
{
	struct invocation *invocation = context;

	invocation->line.given |= option;
	return &invocation->request;
}

static int take_depth(void *context, const char *value)
{
	return take_count(&asked(context, DEPTH)->tree.depth, "depth", value, 1,
			  DEPTH_MOST);
}

static int take_seed(void *context, const char *value)
{
	return take_count(&asked(context, SEED)->tree.seed, "seed", value, 0,
			  SEED_MOST);
}

static int take_dirs(void *context, const char *value)
{
	return draw_take(&asked(context, DIRS)->tree.dirs, "dirs", value);
}

static int take_files(void *context, const char *value)
{
	return draw_take(&asked(context, FILES)->tree.files, "files", value);
}

static int take_size(void *context, const char *value)
{
	return draw_take(&asked(context, SIZE)->tree.size, "size", value);
}

static int take_names(void *context, const char *value)
{
	struct tree *tree = &asked(context, NAMES)->tree;
	size_t digits = *value ? strspn(value + 1, "0") : 0;

	if (!isalpha((unsigned char)*value) || !digits ||
	    digits > DIGITS_MOST || value[1 + digits])
		return fail("--names '%s': give a letter and 1 to %d zeros, "
			    "such as f0000",
			    value, DIGITS_MOST);
	tree->letter = *value;
	tree->digits = digits;
	return 0;
}

static int take_payload(void *context, const char *value)
{
	return take_choice(&asked(context, PAYLOAD)->payload, "payload", value,
			   payload_names);
}

static int take_compressibility(void *context, const char *value)
{
	return take_share(&asked(context, COMPRESSIBILITY)->compressibility,
			  "compressibility", value);
}

static int take_free(void *context, const char *value)
{
	double *share = &asked(context, SHARE)->share;

	if (take_share(share, "share", value))
		return -1;
	return *share > 0 ? 0 : fail("--share 0: give a share above 0");
}

static int take_list(void *context, const char *value)
{
	asked(context, LIST)->list = value;
	return 0;
}

static int take_dry_run(void *context, const char *value)
{
	(void)value;
	asked(context, DRY_RUN)->dry_run = true;
	return 0;
}

static int take_digest(void *context, const char *value)
{
	(void)value;
	asked(context, DIGEST)->digest = true;
	return 0;
}

static int take_keep_top(void *context, const char *value)
{
	(void)value;
	asked(context, KEEP_TOP)->keep_top = true;
	return 0;
}

static int take_word(void *context, const char *value)
{
	struct invocation *invocation = context;
	struct request *request = &invocation->request;
	struct command_line *line = &invocation->line;
	const char **words[] = {&request->command, &request->place,
				&request->name};

	if (line->words == sizeof(words) / sizeof(*words))
		return fail("'%s' is one argument too many; see --help", value);
	*words[line->words++] = value;
	line->name = request->command;
	line->last = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "COMMAND DIR|FILE [NAME]", "what to do, and where", take_word},
	{"depth", "N", "levels of folders, DIR counts: 1 is DIR with its files",
	 take_depth},
	{"dirs", "X", "folders in each folder above the last level", take_dirs},
	{"files", "X", "files in each folder", take_files},
	{"size", "X", "bytes of each file", take_size},
	{"seed", "N", "of all that is drawn and of the data (fill: 1)",
	 take_seed},
	{"names", "f0000", "names of files: a letter, and digits to count in",
	 take_names},
	{"payload", "random|postmark", "values of the data's bytes (random)",
	 take_payload},
	{"compressibility", "C", "share 0..1 of the data that is zeros (0)",
	 take_compressibility},
	{"dry-run", NULL, "make: tell the same counts, touch nothing",
	 take_dry_run},
	{"digest", NULL, "list, make --dry-run: the tree's digest too",
	 take_digest},
	{"list", "FILE", "read: only these paths below DIR, one a line",
	 take_list},
	{"keep-top", NULL, "delete: only what is below DIR, but no lost+found",
	 take_keep_top},
	{"share", "S",
	 "fill: share 0..1 of the bytes that are free (until full)", take_free},
};

void request_payload(const struct request *request, struct payload *payload)
{
	/* Another seed than the draws', for both begin alike. */
	payload_open(payload, (enum payload_kind)request->payload,
		     ~request->tree.seed, request->compressibility, PIECE);
}

static int tell(const struct request *request, struct found *found)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "filetree");
	json_text(&json, "command", request->command);
	if (calls_json(&json, &found->calls))
		return -1;
	json_object(&json, "figures");
	tally_json(&json, &found->tally);
	json_end(&json);
	if (*found->digest) {
		json_object(&json, "texts");
		json_text(&json, "digest", found->digest);
		json_end(&json);
	}
	json_end(&json);
	return json_finish(&json);
}

static int run(struct request *request, command *act)
{
	struct found found = {.digest = ""};
	int error;

	calls_open(&found.calls);
	stop_watch();
	error = act(request, &found);
	if (error == REFUSED) {
		calls_close(&found.calls);
		return EXIT_USAGE;
	}
	if (stop_wanted())
		fail("stopped by signal %d", stop_wanted());
	if (tell(request, &found))
		error = -1;
	calls_close(&found.calls);
	if (stop_wanted())
		return EXIT_BY_SIGNAL + stop_wanted();
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
	struct invocation invocation = {
		.request.tree = {.seed = 1, .letter = 'f', .digits = 4}};
	struct request *request = &invocation.request;
	int command, status = EXIT_USAGE;
	bool helped;

	(void)argc;
	diag_program = "filetree";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &invocation, "COMMAND DIR [OPTION...]", ABOUT,
			 &helped)) {
		status = helped ? EXIT_OK : EXIT_USAGE;
	} else {
		command =
			commands_find(commands, COMMANDS, invocation.line.name);
		if (command >= 0 &&
		    !commands_check(&commands[command], &invocation.line,
				    given_names,
				    sizeof(given_names) / sizeof(*given_names)))
			status = run(request, runs[command]);
	}
	draw_free(&request->tree.dirs);
	draw_free(&request->tree.files);
	draw_free(&request->tree.size);
	return status;
}
