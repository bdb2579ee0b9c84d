// SPDX-License-Identifier: GPL-2.0-or-later
/* The language of a recorded load; see script.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "script.h"

#define WORD_MAX PATH_MAX

struct name {
	const char *name;
	int value;
};

#define NAME(x) {#x, x}

static const struct name flags[] = {
	NAME(O_RDONLY),	   NAME(O_WRONLY),   NAME(O_RDWR),    NAME(O_CREAT),
	NAME(O_EXCL),	   NAME(O_TRUNC),    NAME(O_APPEND),  NAME(O_SYNC),
	NAME(O_DSYNC),	   NAME(O_NOFOLLOW), NAME(O_CLOEXEC), NAME(O_DIRECTORY),
	NAME(O_NOCTTY),	   NAME(O_NONBLOCK), NAME(O_NOATIME), NAME(O_PATH),
	NAME(O_LARGEFILE), {NULL, 0},
};

static const struct name errors[] = {
	NAME(ENOENT),	 NAME(EEXIST), NAME(ENOTDIR),	   NAME(EISDIR),
	NAME(ENOTEMPTY), NAME(EINVAL), NAME(ENAMETOOLONG), {NULL, 0},
};

static const struct name whences[] = {
	NAME(SEEK_SET),	 NAME(SEEK_CUR),  NAME(SEEK_END),
	NAME(SEEK_DATA), NAME(SEEK_HOLE), {NULL, 0},
};

static const struct name advices[] = {
	NAME(POSIX_FADV_NORMAL),
	NAME(POSIX_FADV_SEQUENTIAL),
	NAME(POSIX_FADV_RANDOM),
	NAME(POSIX_FADV_NOREUSE),
	NAME(POSIX_FADV_WILLNEED),
	NAME(POSIX_FADV_DONTNEED),
	{NULL, 0},
};

static const struct name *named(const struct name *table, const char *word)
{
	for (; table->name; table++)
		if (!strcmp(table->name, word))
			return table;
	return NULL;
}

const char *error_name(int error)
{
	for (const struct name *e = errors; e->name; e++)
		if (e->value == error)
			return e->name;
	return "another error";
}

int script_open(struct script *script, const char *path)
{
	int fd = checked_open(path, O_RDONLY, 0);
	struct stat stat;

	*script = (struct script){.path = path};
	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || !stat.st_size) {
		close(fd);
		return fail("'%s' is empty, or no file", path);
	}
	script->size = (size_t)stat.st_size;
	script->text = mmap(NULL, script->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (script->text == MAP_FAILED) {
		script->text = NULL;
		return fail_errno("map", path);
	}
	return 0;
}

void script_close(struct script *script)
{
	if (script->text)
		munmap(script->text, script->size);
}

void script_rewind(struct script *script)
{
	script->at = 0;
	script->line = 0;
}

static int wrong(const struct script *script, const char *what,
		 const char *word)
{
	return fail("%s, line %lu: %s%s%s%s", script->path, script->line, what,
		    *word ? ": '" : "", word, *word ? "'" : "");
}

static char ahead(const struct script *script)
{
	return script->at < script->size ? script->text[script->at] : '\n';
}

static int hex(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* A character in quotes: \" \\ or \xHH. -1: none of these. */
static int escaped(struct script *script)
{
	char is = ahead(script);
	int high, low;

	script->at++;
	if (is == '"' || is == '\\')
		return is;
	if (is != 'x')
		return -1;
	high = hex(ahead(script));
	script->at++;
	low = hex(ahead(script));
	script->at++;
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static int quoted(struct script *script, char *word)
{
	size_t length = 0;

	for (script->at++; ahead(script) != '"';) {
		int is = (unsigned char)ahead(script);

		if (is == '\n')
			return wrong(script, "a quote is not closed", "");
		script->at++;
		if (is == '\\')
			is = escaped(script);
		if (is <= 0)
			return wrong(script, "in quotes is no such \\ sequence",
				     "");
		if (length + 1 >= WORD_MAX)
			return wrong(script, "a word is too long", "");
		word[length++] = (char)is;
	}
	script->at++;
	word[length] = '\0';
	return 1;
}

/* The next word of the line: 1, 0 at its end, -1 after a message. */
static int next_word(struct script *script, char *word)
{
	size_t length = 0;

	while (ahead(script) == ' ')
		script->at++;
	if (ahead(script) == '\n')
		return 0;
	if (ahead(script) == '"')
		return quoted(script, word);
	for (; ahead(script) != ' ' && ahead(script) != '\n'; script->at++) {
		if (length + 1 >= WORD_MAX)
			return wrong(script, "a word is too long", "");
		word[length++] = ahead(script);
	}
	word[length] = '\0';
	return 1;
}

static int take_number(const struct script *script, const char *word,
		       long long *number)
{
	char *end;

	errno = 0;
	*number = strtoll(word, &end, 10);
	if (*end || end == word || errno)
		return wrong(script, "not a whole number", word);
	return 0;
}

static int take_path(const struct script *script, struct call *call,
		     const char *word)
{
	char padded[PATH_MAX + 2];

	snprintf(padded, sizeof(padded), "/%s/", word);
	if (*word == '/' || !*word || strstr(padded, "/../"))
		return wrong(script, "not a path below the folder", word);
	strcpy(call->path[call->paths++], word);
	return 0;
}

static int take_flags(const struct script *script, struct call *call,
		      char *word)
{
	char *rest = word, *flag;

	while ((flag = strsep(&rest, "|"))) {
		const struct name *known = named(flags, flag);

		if (!known)
			return wrong(script, "not a flag of open", flag);
		call->flags |= known->value;
	}
	return 0;
}

static int take_lengths(const struct script *script, struct call *call,
			char *word)
{
	char *rest = word, *length;
	long long number;

	while ((length = strsep(&rest, ","))) {
		if (take_number(script, length, &number))
			return -1;
		if (number < 0 || call->lengths == LENGTHS_MAX)
			return wrong(script, "lengths are wrong", length);
		call->length[call->lengths++] = (uint64_t)number;
		call->bytes += (uint64_t)number;
	}
	return 0;
}

static int take_file(const struct script *script, struct call *call,
		     const char *word)
{
	long long number;

	if (take_number(script, word, &number))
		return -1;
	if (number < 1 || number >= FILES_MAX)
		return wrong(script, "not the number of an open file", word);
	call->file = (int)number;
	return 0;
}

static int take_named(const struct script *script, struct call *call,
		      const struct name *table, const char *word)
{
	const struct name *known = named(table, word);

	if (!known)
		return wrong(script, "no such word here", word);
	call->number[call->numbers++] = known->value;
	return 0;
}

static int take_mode(const struct script *script, struct call *call,
		     const char *word)
{
	char *end;

	call->mode = (int)strtol(word, &end, 8);
	if (*end || call->mode < 0 || call->mode > 07777)
		return wrong(script, "not a mode", word);
	return 0;
}

static int take(const struct script *script, struct call *call, char letter,
		char *word)
{
	switch (letter) {
	case 'd':
	case 'D':
		return take_file(script, call, word);
	case 'p':
		return take_path(script, call, word);
	case 't':
		strcpy(call->path[call->paths++], word);
		return 0;
	case 'n':
		return take_number(script, word,
				   &call->number[call->numbers++]);
	case 'f':
		return take_flags(script, call, word);
	case 'l':
		return take_lengths(script, call, word);
	case 'w':
		return take_named(script, call, whences, word);
	case 'a':
		return take_named(script, call, advices, word);
	default:
		return take_mode(script, call, word);
	}
}

/* What follows the "=": bytes, a position, or an error such as -ENOENT. */
static int take_returned(struct script *script, struct call *call, char *word)
{
	const struct name *error;

	if (next_word(script, word) != 1)
		return wrong(script, "nothing after =", "");
	call->told = true;
	if (*word != '-')
		return take_number(script, word, &call->returned);
	error = named(errors, word + 1);
	if (!error)
		return wrong(script, "not an error that is replayed", word);
	call->error = error->value;
	return 0;
}

static int take_line(struct script *script, struct call *call, char *word)
{
	const char *letter = call->verb->args;
	int got;

	while ((got = next_word(script, word)) == 1 && strcmp(word, "=")) {
		if (!*letter)
			return wrong(script, "more than this call takes", word);
		if (take(script, call, *letter++, word))
			return -1;
	}
	if (got < 0)
		return -1;
	if (*letter && *letter != 'm')
		return wrong(script, "arguments are missing", "");
	if (got == 1 && take_returned(script, call, word))
		return -1;
	if (call->bytes > MOVED_MAX)
		return wrong(script, "more bytes than a call may ask for", "");
	return ahead(script) == '\n' ? 1 : wrong(script, "more words", "");
}

static int take_think(const struct script *script, struct call *call,
		      const char *word)
{
	long long number;

	if (take_number(script, word + 1, &number))
		return -1;
	if (number < 0)
		return wrong(script, "not a time in us", word);
	call->think_us = (uint64_t)number;
	return 0;
}

/* To the begin of the next line that has a word. */
static int find_line(struct script *script, char *word)
{
	while (script->at < script->size) {
		int got;

		script->line++;
		got = next_word(script, word);
		if (got < 0 || (got && *word != '#'))
			return got;
		while (ahead(script) != '\n')
			script->at++;
		script->at++;
	}
	return 0;
}

int script_next(struct script *script, const struct verb *verbs,
		struct call *call)
{
	char word[WORD_MAX];
	int got;

	memset(call, 0, offsetof(struct call, path));
	got = find_line(script, word);
	if (got <= 0)
		return got;
	call->line = script->line;
	if (*word == '+') {
		if (take_think(script, call, word))
			return -1;
		if (next_word(script, word) != 1)
			return wrong(script, "no call after its time", "");
	}
	while (verbs->name && strcmp(verbs->name, word))
		verbs++;
	if (!verbs->name)
		return wrong(script, "no such call here", word);
	call->verb = verbs;
	got = take_line(script, call, word);
	script->at++;
	return got;
}
