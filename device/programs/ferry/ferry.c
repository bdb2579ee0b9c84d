// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ferry: carries bytes between the host and the board through memory that the
 * kernel does not use.
 *
 *   get ADDRESS        writes to stdout what the host has left there
 *   put ADDRESS ROOM   stores stdin there, for the host to fetch; fails if
 *                      stdin has more bytes than the whole MiB of ROOM
 *
 * At ADDRESS lies a page with struct head, then the bytes. The host's side is
 * src/nandlab/board/jobs/cargo.py. Needs /dev/mem, and memory that no driver
 * has claimed. Maps it a window at a time, to take little of the board's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "options.h"
#include "takes.h"

#define MEMORY	   "/dev/mem"
#define MAGIC	   0x4f47524143444e4eull /* "NNDCARGO" */
#define HEAD_BYTES 4096
#define WINDOW	   (1u << 20)
#define WORDS_MAX  3

struct head {
	uint64_t magic;
	uint64_t bytes;
};

struct request {
	const char *word[WORDS_MAX];
	int words;
	uint64_t address;
	uint64_t room;
	int memory;
};

static int take_word(void *context, const char *value)
{
	struct request *request = context;

	if (request->words == WORDS_MAX)
		return fail("%s: one argument too many", value);
	request->word[request->words++] = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "get ADDRESS", "write to stdout what the host left there",
	 take_word},
	{NULL, "put ADDRESS ROOM", "take stdin there, ROOM bytes at most",
	 take_word},
};

/* Maps @bytes of memory at @address, which is the start of a page. */
static void *window(const struct request *request, uint64_t address,
		    size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			request->memory, (off_t)address);

	if (at != MAP_FAILED)
		return at;
	fail_errno("map", MEMORY);
	return NULL;
}

static int write_all(const char *from, size_t bytes)
{
	while (bytes) {
		ssize_t done = write(STDOUT_FILENO, from, bytes);

		if (done < 0)
			return fail_errno("write", "stdout");
		from += done;
		bytes -= (size_t)done;
	}
	return 0;
}

/* Reads until the buffer is full or stdin ends: bytes read, or -1. */
static ssize_t read_all(char *to, size_t bytes)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t got = read(STDIN_FILENO, to + have, bytes - have);

		if (got < 0)
			return fail_errno("read", "stdin");
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static int get(const struct request *request)
{
	struct head *head = window(request, request->address, HEAD_BYTES);
	uint64_t at = request->address + HEAD_BYTES, left;

	if (!head)
		return -1;
	if (head->magic != MAGIC)
		return fail("%s: the host left nothing there",
			    request->word[1]);
	left = head->bytes;
	while (left) {
		size_t bytes = left < WINDOW ? left : WINDOW;
		char *from = window(request, at, WINDOW);

		if (!from || write_all(from, bytes))
			return -1;
		munmap(from, WINDOW);
		at += bytes;
		left -= bytes;
	}
	return 0;
}

static int put_head(const struct request *request, uint64_t bytes)
{
	struct head *head = window(request, request->address, HEAD_BYTES);

	if (!head)
		return -1;
	head->bytes = bytes;
	head->magic = MAGIC;
	return 0;
}

static int put(const struct request *request)
{
	uint64_t at = request->address + HEAD_BYTES, taken = 0;
	ssize_t got;

	do {
		uint64_t left = request->room - taken;
		char extra, *to;

		if (left < WINDOW) { /* a last window would not fit */
			if (!read_all(&extra, 1))
				break;
			return fail(
				"more than the %llu bytes there is room for",
				(unsigned long long)taken);
		}
		to = window(request, at + taken, WINDOW);
		got = to ? read_all(to, WINDOW) : -1;
		if (got < 0)
			return -1;
		munmap(to, WINDOW);
		taken += (uint64_t)got;
	} while (got == WINDOW);
	return put_head(request, taken);
}

static int run(struct request *request)
{
	const char *what = request->words ? request->word[0] : "";
	bool gets = !strcmp(what, "get") && request->words == 2;
	bool puts = !strcmp(what, "put") && request->words == 3;

	if (!gets && !puts)
		return fail("say get ADDRESS or put ADDRESS ROOM");
	if (take_number(&request->address, request->word[1]) ||
	    (puts && take_number(&request->room, request->word[2])))
		return -1;
	request->memory = checked_open(MEMORY, O_RDWR, 0);
	if (request->memory < 0)
		return -1;
	return gets ? get(request) : put(request);
}

int main(int argc, char **argv)
{
	struct request request = {0};
	bool helped;

	(void)argc;
	diag_program = "ferry";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "get ADDRESS | put ADDRESS ROOM",
			 "Carries bytes between the host and the board.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	return run(&request) ? EXIT_RUN_FAILED : EXIT_OK;
}
