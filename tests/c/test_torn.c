// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a torn operation leaves lies between before and after: no bit goes from
 * 0 to 1 but by an erase, and from a seed it is the same each time.
 *
 * The function and the words of a check are its name, as in test_journal.c.
 */
#include "journalled.h"
#include "state.h"

#define SEEDS 40

static u8 back[2112], was[64 * 2112], is[64 * 2112], goal[2112];
static const struct chip_ecc ecc4 = {
	.step = 512,
	.strength = 4,
	.bytes = 7,
	.check_at = 2112 - 28,
};

static void pages_of(struct chip *chip, u32 first, u32 pages, u8 *to)
{
	u32 i;

	for (i = 0; i < pages; i++)
		page_content(chip, first + i, to + i * 2112);
}

static u32 bits_set(const u8 *from, const u8 *to, u32 bytes)
{
	u32 n = 0, i;

	for (i = 0; i < bytes; i++)
		n += shim_weight8(~from[i] & to[i]);
	return n;
}

/* A read through the ECC engine: steps that it could not correct. */
static u32 failed_steps(struct chip *chip, u32 row, u8 *to)
{
	u32 corrected = 0, failed = 0;

	read(chip, row, 0, to, 2112);
	chip_ecc_page(chip, &ecc4, to, to + 2048, &corrected, &failed);
	return failed;
}

/* Reads of a page until it is wrong. */
static u32 right_reads(struct chip *chip, u32 row, const u8 *wanted, u32 limit)
{
	u32 n;

	for (n = 0; n < limit; n++) {
		chip->reg_row = CHIP_NO_PAGE; /* else the register answers */
		if (failed_steps(chip, row, back))
			break;
		CHECK_EQ(memcmp(back, wanted, 2112), 0);
	}
	return n;
}

static bool is_named(const struct torn_way *way, const char *name)
{
	return !strcmp(way->name, name);
}

static u32 most_wrong; /* bits of a page */

static void check_torn_program(struct journal *journal, u32 row,
			       const struct torn_way *way, u64 seed)
{
	struct chip *chip = journal->chip;
	bool same, done;
	u32 wrong;

	CHECK_EQ(journal_goto(journal, 1), 0);
	pages_of(chip, row, 1, goal);
	CHECK_EQ(journal_goto(journal, 0), 0);
	pages_of(chip, row, 1, was);
	CHECK_EQ(torn_next(journal, false, way, seed), 0);
	pages_of(chip, row, 1, is);
	wrong = chip->faults.stored_count;
	CHECK_EQ(journal_goto(journal, 0), 0);
	CHECK_EQ(chip->faults.stored_count, 0);
	CHECK_EQ(torn_next(journal, false, way, seed), 0);
	CHECK_EQ(chip->faults.stored_count, wrong);
	pages_of(chip, row, 1, back);
	CHECK_EQ(memcmp(back, is, 2112), 0); /* the same each time */
	CHECK_EQ(bits_set(was, is, 2112), 0);
	CHECK_EQ(bits_set(is, goal, 2112), 0);
	same = !memcmp(is, was, 2112);
	done = !memcmp(is, goal, 2112);
	if (is_named(way, "before"))
		CHECK_EQ(same, true);
	if (!way->program && way->tears)
		CHECK_EQ(done, true);
	CHECK_EQ(wrong <= (is_named(way, "few") ? 8 : 0), true);
	most_wrong = wrong > most_wrong ? wrong : most_wrong;
	if (is_named(way, "unstable")) /* right at first, if not for long */
		CHECK_EQ(right_reads(chip, row, goal, 1), 1);
	else if (wrong > ecc4.strength)
		CHECK_EQ(failed_steps(chip, row, back), 1);
	else if (same || done)
		CHECK_EQ(failed_steps(chip, row, back), 0);
	else
		CHECK_EQ(failed_steps(chip, row, back), 4);
	if (is_named(way, "few") && wrong <= ecc4.strength)
		CHECK_EQ(memcmp(back, goal, 2112), 0); /* corrected */
}

/* A first program of a page, a second one, one of spare bytes. */
static void test_torn_programs(void)
{
	struct journal journal;
	struct chip chip;
	const struct torn_way *const *way;
	u64 seed;
	u32 kind;

	for (kind = 0; kind < 3; kind++) {
		begin(&chip, &journal);
		fill(page, 2112, 5);
		if (kind)
			program(&chip, 70, 0, page, 512);
		CHECK_EQ(journal_record(&journal), 0);
		if (kind == 2)
			program(&chip, 70, 2048, page, 64);
		else
			program(&chip, 70, 512, page, 1600);
		CHECK_EQ(journal_stop(&journal), 0);
		for (way = torn_ways; *way; way++)
			for (seed = 0; seed < SEEDS; seed++)
				check_torn_program(&journal, 70, *way, seed);
		end(&chip, &journal);
	}
	CHECK_EQ(most_wrong, 8);
}

static void check_torn_erase(struct journal *journal,
			     const struct torn_way *way, u64 seed)
{
	struct chip *chip = journal->chip;

	CHECK_EQ(journal_goto(journal, 0), 0);
	pages_of(chip, 64, 64, was);
	CHECK_EQ(torn_next(journal, false, way, seed), 0);
	pages_of(chip, 64, 64, is);
	CHECK_EQ(bits_set(is, was, sizeof(was)), 0); /* none is cleared */
	CHECK_EQ(chip->block[1].wear, is_named(way, "before") ? 0 : 1);
	if (is_named(way, "before"))
		CHECK_EQ(memcmp(is, was, sizeof(was)), 0);
	if (is_named(way, "subset"))
		CHECK_EQ(failed_steps(chip, 64, back), 4);
	if (!way->erase && way->tears) {
		memset(was, 0xff, sizeof(was));
		CHECK_EQ(memcmp(is, was, sizeof(was)), 0);
		CHECK_EQ(chip_erased_blocks(chip, 16), 16);
	}
}

static void test_torn_erases(void)
{
	struct journal journal;
	struct chip chip;
	const struct torn_way *const *way;
	u64 seed;
	u32 i;

	begin(&chip, &journal);
	for (i = 0; i < 64; i++) {
		fill(page, 2112, i);
		program(&chip, 64 + i, 0, page, 2112);
	}
	CHECK_EQ(journal_record(&journal), 0);
	erase(&chip, 1);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(torn_next(&journal, false, torn_way("subset"), 0),
		 -EINVAL); /* nothing comes after it */
	CHECK_EQ(journal_goto(&journal, 0), 0);
	CHECK_EQ(torn_next(&journal, false, torn_way("prefix"), 0), -EINVAL);
	CHECK_EQ(torn_next(&journal, false, torn_way("few"), 0), -EINVAL);
	for (way = torn_ways; *way; way++)
		for (seed = 0; seed < SEEDS && (*way)->tears != TEARS_PROGRAMS;
		     seed++)
			check_torn_erase(&journal, *way, seed);
	end(&chip, &journal);
}

static void test_unstable(void)
{
	u32 least = ~0u, most = 0, n;
	struct journal journal;
	struct chip chip;
	u64 seed;

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	fill(page, 2112, 9);
	program(&chip, 5, 0, page, 2112);
	erase(&chip, 0);
	CHECK_EQ(journal_stop(&journal), 0);
	for (seed = 0; seed < SEEDS; seed++) {
		CHECK_EQ(journal_goto(&journal, 0), 0);
		CHECK_EQ(torn_next(&journal, false, torn_way("unstable"), seed),
			 0);
		n = right_reads(&chip, 5, page, 20);
		least = n < least ? n : least;
		most = n > most ? n : most;
		CHECK_EQ(memcmp(back, page, 2112) != 0, true);
		erase(&chip, 0);
		program(&chip, 5, 0, page, 2112);
		CHECK_EQ(right_reads(&chip, 5, page, 20), 20);
	}
	CHECK_EQ(least, 1);
	CHECK_EQ(most, 8);
	CHECK_EQ(journal_goto(&journal, 1), 0);
	CHECK_EQ(torn_next(&journal, false, torn_way("unstable"), 3), 0);
	memset(page, 0xff, 2112);
	CHECK_EQ(right_reads(&chip, 5, page, 513) < 513, true);
	CHECK_EQ(right_reads(&chip, 70, page, 20), 20); /* another block */
	CHECK_EQ(journal_goto(&journal, 0), 0);
	CHECK_EQ(torn_next(&journal, false, torn_way("unstable"), 3), 0);
	CHECK_EQ(right_reads(&chip, 4, page, 20), 20); /* another page */
	end(&chip, &journal);
}

/* Whoever cuts a check need not know which of its operations are erases. */
static void test_an_erase_of_a_check_has_no_few_bits(void)
{
	struct journal journal;
	struct state subset;
	struct chip chip;

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	fill(page, 2112, 0);
	program(&chip, 0, 0, page, 2112);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(journal_goto(&journal, 1), 0);
	erase(&chip, 0);
	CHECK_EQ(journal_back(&journal, 0), 0);
	CHECK_EQ(torn_next(&journal, true, torn_way("subset"), 7), 0);
	subset = state_of(&chip);
	CHECK_EQ(journal_back(&journal, 0), 0);
	CHECK_EQ(torn_next(&journal, true, torn_way("few"), 7), 0);
	CHECK_STATE(&chip, subset);
	end(&chip, &journal);
}

static void test_ways(void)
{
	const struct torn_way *const *way;

	for (way = torn_ways; *way; way++) {
		CHECK_EQ(torn_way((*way)->name) == *way, true);
		CHECK_EQ(strlen((*way)->name) < 16, true);
		CHECK_EQ(!(*way)->block, (*way)->tears == TEARS_PROGRAMS);
	}
	CHECK_EQ(torn_way("melted") == NULL, true);
}

int main(void)
{
	test_ways();
	test_torn_programs();
	test_torn_erases();
	test_unstable();
	test_an_erase_of_a_check_has_no_few_bits();
	return verdict();
}
