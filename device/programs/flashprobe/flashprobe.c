// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flashprobe: what a board's raw flash and its processor take, for a model of
 * them.
 *
 * Of --blocks good blocks of --device it erases each, programs its pages in
 * order, reads them, reads their spare areas alone, and erases it again: each
 * operation timed by itself at the MTD device, so driver, bus and ECC are in
 * it. Then a loop of additions, a checksum and copies of 1 MiB, without flash.
 * It prints one line of JSON: medians and maxima, ns; the loop in ps a turn,
 * of four instructions on most machines; bytes a second.
 *
 * What the device holds in these blocks is lost. Needs a raw NAND device.
 */
#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "options.h"
#include "takes.h"

#define TURNS	     20000000u
#define PIECE	     (1u << 20)
#define PIECES	     16
#define NS_PER_S     1000000000ull
#define BLOCKS_USUAL 8
#define MULTIPLIER   1664525u
#define INCREMENT    1013904223u

#define BLOCKS_MOST  1e9

struct request {
	const char *device;
	uint64_t blocks;
};

struct times {
	uint64_t *ns;
	size_t count;
};

struct probe {
	int fd;
	const char *path;
	struct mtd_info_user info;
	unsigned char *page;
	unsigned char *spare;
	struct times erase, program, read, spare_read;
};

TAKE_TEXT(device)
TAKE_COUNT(blocks, "blocks", 1, BLOCKS_MOST)

static const struct option_decl options[] = {
	{"device", "MTD", "the flash, such as /dev/mtd1: it is erased",
	 on_device},
	{"blocks", "N", "good blocks that are measured (8)", on_blocks},
};

static void add(struct times *to, uint64_t began_ns)
{
	to->ns[to->count++] = now_ns() - began_ns;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void tell(struct json *json, const char *median, const char *most,
		 struct times *of)
{
	qsort(of->ns, of->count, sizeof(*of->ns), by_time);
	json_count(json, median, of->ns[of->count / 2]);
	json_count(json, most, of->ns[of->count - 1]);
}

static int erase(struct probe *p, uint32_t at, struct times *into)
{
	struct erase_info_user block = {.start = at,
					.length = p->info.erasesize};
	uint64_t began = now_ns();

	if (ioctl(p->fd, MEMERASE, &block))
		return fail_errno("erase a block of", p->path);
	if (into)
		add(into, began);
	return 0;
}

static int program(struct probe *p, uint32_t at)
{
	uint64_t began = now_ns();

	if (pwrite(p->fd, p->page, p->info.writesize, at) !=
	    (ssize_t)p->info.writesize)
		return fail_errno("program a page of", p->path);
	add(&p->program, began);
	return 0;
}

static int read_page(struct probe *p, uint32_t at)
{
	uint64_t began = now_ns();

	if (pread(p->fd, p->page, p->info.writesize, at) !=
	    (ssize_t)p->info.writesize)
		return fail_errno("read a page of", p->path);
	add(&p->read, began);
	return 0;
}

static int read_spare(struct probe *p, uint32_t at)
{
	struct mtd_oob_buf of = {
		.start = at, .length = p->info.oobsize, .ptr = p->spare};
	uint64_t began = now_ns();

	if (ioctl(p->fd, MEMREADOOB, &of))
		return fail_errno("read a spare area of", p->path);
	add(&p->spare_read, began);
	return 0;
}

static int each_page(struct probe *p, uint32_t block,
		     int (*does)(struct probe *p, uint32_t at))
{
	uint32_t at = block, end = block + p->info.erasesize;

	for (; at < end; at += p->info.writesize)
		if (does(p, at))
			return -1;
	return 0;
}

static void fill(unsigned char *bytes, size_t count)
{
	uint32_t x = 1;
	size_t i;

	for (i = 0; i < count; i++) {
		x = x * MULTIPLIER + INCREMENT;
		bytes[i] = x >> 24;
	}
}

static int one_block(struct probe *p, uint32_t block)
{
	fill(p->page, p->info.writesize);
	if (erase(p, block, NULL) || each_page(p, block, program) ||
	    each_page(p, block, read_page) || each_page(p, block, read_spare))
		return -1;
	return erase(p, block, &p->erase);
}

static int open_device(struct probe *p)
{
	p->fd = checked_open(p->path, O_RDWR, 0);
	if (p->fd < 0)
		return -1;
	if (ioctl(p->fd, MEMGETINFO, &p->info))
		return fail_errno("ask for the shape of", p->path);
	if (p->info.type != MTD_NANDFLASH && p->info.type != MTD_MLCNANDFLASH)
		return fail("%s: no NAND flash", p->path);
	return 0;
}

static void make_room(struct probe *p, unsigned long blocks)
{
	uint64_t pages = p->info.erasesize / p->info.writesize * blocks;

	p->page = allocate(p->info.writesize, 1, "a page");
	p->spare = allocate(p->info.oobsize, 1, "a spare area");
	p->erase.ns = allocate(blocks, sizeof(uint64_t), "times");
	p->program.ns = allocate(pages, sizeof(uint64_t), "times");
	p->read.ns = allocate(pages, sizeof(uint64_t), "times");
	p->spare_read.ns = allocate(pages, sizeof(uint64_t), "times");
}

static int flash(struct probe *p, unsigned long blocks)
{
	uint32_t at;
	int bad;

	if (open_device(p))
		return -1;
	make_room(p, blocks);
	for (at = 0; at < p->info.size && p->erase.count < blocks;
	     at += p->info.erasesize) {
		loff_t block = at;

		bad = ioctl(p->fd, MEMGETBADBLOCK, &block);
		if (bad < 0)
			return fail_errno("ask for bad blocks of", p->path);
		if (!bad && one_block(p, at))
			return -1;
	}
	if (p->erase.count < blocks)
		return fail("%s: less than %lu good blocks", p->path, blocks);
	return checked_close(p->fd, p->path);
}

/* ps a turn: an addition and a product that hang on the last, a count down, a
 * jump. */
static uint64_t loop_ps(void)
{
	uint64_t began = now_ns();
	uint32_t x = 1, i;

	for (i = TURNS; i; i--) {
		x = x * MULTIPLIER + INCREMENT;
		__asm__ volatile("" : "+r"(x));
	}
	return (now_ns() - began) * 1000 / TURNS;
}

/* Bytes a second of Fletcher's sum. */
static uint64_t checksum_rate(const unsigned char *bytes)
{
	uint64_t began = now_ns();
	uint32_t a = 0, b = 0;
	size_t i;

	for (i = 0; i < PIECE; i++) {
		a += bytes[i];
		b += a;
		__asm__ volatile("" : "+r"(a), "+r"(b));
	}
	return PIECE * NS_PER_S / (now_ns() - began);
}

static uint64_t copy_rate(const unsigned char *from, unsigned char *to)
{
	uint64_t began = now_ns();
	int i;

	for (i = 0; i < PIECES; i++) {
		memcpy(to, from, PIECE);
		__asm__ volatile("" : : "r"(to) : "memory");
	}
	return PIECES * PIECE * NS_PER_S / (now_ns() - began);
}

static int told(struct probe *p)
{
	struct json json = {.out = stdout};
	unsigned char *from = allocate(PIECE, 1, "a piece");
	unsigned char *to = allocate(PIECE, 1, "a piece");

	fill(from, PIECE);
	json_object(&json, NULL);
	json_text(&json, "program", "flashprobe");
	json_count(&json, "page_bytes", p->info.writesize);
	json_count(&json, "spare_bytes", p->info.oobsize);
	json_count(&json, "blocks", p->erase.count);
	tell(&json, "read_ns", "read_max_ns", &p->read);
	tell(&json, "spare_read_ns", "spare_read_max_ns", &p->spare_read);
	tell(&json, "program_ns", "program_max_ns", &p->program);
	tell(&json, "erase_ns", "erase_max_ns", &p->erase);
	json_count(&json, "loop_ps", loop_ps());
	json_count(&json, "checksum_bytes_per_s", checksum_rate(from));
	json_count(&json, "copy_bytes_per_s", copy_rate(from, to));
	json_end(&json);
	free(from);
	free(to);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {.blocks = BLOCKS_USUAL};
	struct probe probe = {0};
	bool helped;

	(void)argc;
	diag_program = "flashprobe";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "--device MTD [OPTION...]",
			 "Measures raw flash, and the processor beside it.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.device) {
		fail("give --device");
		return EXIT_USAGE;
	}
	probe.path = request.device;
	if (flash(&probe, request.blocks) || told(&probe))
		return EXIT_RUN_FAILED;
	return EXIT_OK;
}
