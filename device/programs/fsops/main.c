// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsops: plays sequences of file operations in a directory and prints the
 * result of each, so that the same sequences on two file systems can be
 * compared line by line.
 *
 * The sequences are a text file, one operation a line; operations.c has the
 * table of them. A line "seq NAME" begins a sequence: it makes the directory
 * NAME (unless an earlier part of the sequence did), changes to it, and closes
 * what the sequence before left open. Four files and four directories can be
 * held open, by number. An operation prints one line: 0, the name of its error,
 * or length and hash of what it read. "check" prints the whole tree, a line
 * beginning with a tab for each file.
 *
 * "seq NAME N" sets the clock before each operation, of which the first is
 * number N. Then the lines say which operation changed a file (opclock.c).
 *
 * A "?" before an operation is for the reference: if the operation succeeds, it
 * is undone. So an operation that the file system under test cannot do at all
 * (links on FAT) leaves the reference unchanged too, and still shows how else
 * it may fail.
 *
 * Costs: a check reads every byte that the sequence has written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "fsops.h"
#include "options.h"

struct request {
	const char *sequences;
	const char *root;
};

bool succeeded;

void say(int result)
{
	succeeded = result >= 0;
	puts(succeeded ? "0" : strerrorname_np(errno));
}

uint64_t hash_more(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;

	while (size--)
		hash = (hash ^ *byte++) * 0x100000001b3u;
	return hash;
}

static int take_number(const char *word, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, base);
	return errno || *end || end == word || *word == '-' ? -1 : 0;
}

/* words: the name, and the number of the first operation if the clock is to
 * say which it is. */
static int begin_sequence(int root, char *words)
{
	const char *name = strsep(&words, " ");
	uint64_t first = 0;

	if (words && take_number(words, 10, &first))
		return -1;
	files_close_all();
	dir_close_all();
	opclock_begin(words ? (int64_t)first : -1);
	if (opclock_set())
		return -1;
	if (fchdir(root))
		return fail_errno("go to the directory of", name);
	if (mkdir(name, 0755) && errno != EEXIST)
		return fail_errno("create the directory", name);
	if (chdir(name))
		return fail_errno("go to the directory", name);
	printf("seq %s\n", name);
	return 0;
}

/* Parse the words after an operation's name as its signature says. */
static int take_args(const char *signature, char *rest, struct args *args)
{
	size_t paths = 0, numbers = 0;
	uint64_t slot;

	for (; *signature; signature++) {
		char *word = strsep(&rest, " ");

		if (!word || !*word)
			return -1;
		if (*signature == 'p') {
			args->path[paths++] = word;
		} else if (*signature == 'w') {
			args->word = word;
		} else if (*signature == 's') {
			if (take_number(word, 10, &slot) || slot >= SLOTS)
				return -1;
			args->slot = slot;
		} else if (take_number(word, *signature == 'o' ? 8 : 10,
				       &args->number[numbers++])) {
			return -1;
		}
	}
	return rest ? -1 : 0;
}

static const struct operation *find(const char *name)
{
	for (size_t i = 0; i < operations_count; i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	return NULL;
}

static int play_line(int root, char *line)
{
	bool take_back = *line == '?';
	char *rest = line + take_back;
	char *name = strsep(&rest, " ");
	const struct operation *operation = find(name);
	struct args args = {0};
	const char *made;

	if (!strcmp(name, "seq") && rest && !strchr(rest, '/'))
		return begin_sequence(root, rest);
	if (!operation ||
	    take_args(operation->signature, rest ? rest : NULL, &args))
		return -1;
	if (take_back && !operation->undo)
		return -1;
	if (opclock_set())
		return -1;
	made = args.path[1] ? args.path[1] : args.path[0];
	if (operation->undo) {
		dir_touched(made);
		dir_touched(args.path[0]);
	}
	operation->run(&args);
	opclock_go_on();
	if (take_back && succeeded && operation->undo(made))
		return fail_errno("take back", made);
	return 0;
}

static int play(const struct request *request)
{
	char *content = slurp(request->sequences);
	char *line, *rest = content;
	int root, number = 0, error = 0;

	if (!content)
		return fail_errno("read", request->sequences);
	root = checked_open(request->root, O_RDONLY | O_DIRECTORY, 0);
	if (root < 0)
		return -1;
	while (!error && (line = strsep(&rest, "\n"))) {
		number++;
		if (*line && play_line(root, line))
			error = fail("%s: line %d cannot be played",
				     request->sequences, number);
	}
	files_close_all();
	dir_close_all();
	close(root);
	free(content);
	return error;
}

static int take_argument(void *context, const char *value)
{
	struct request *request = context;

	if (request->root)
		return fail("'%s': two arguments are enough", value);
	if (request->sequences)
		request->root = value;
	else
		request->sequences = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, NULL, "", take_argument},
};

int main(int argc, char **argv)
{
	struct request request = {0};
	bool helped;

	(void)argc;
	diag_program = "fsops";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "SEQUENCES DIRECTORY",
			 "Plays sequences of file operations in DIRECTORY.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.root) {
		fail("SEQUENCES and DIRECTORY are missing; see --help");
		return EXIT_USAGE;
	}
	umask(0);
	if (play(&request))
		return EXIT_RUN_FAILED;
	if (fflush(stdout) || ferror(stdout)) {
		fail_errno("write", "standard output");
		return EXIT_RUN_FAILED;
	}
	return EXIT_OK;
}
