// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal of power cuts: a chip goes back and forth along its recorded
 * operations, and those of a check, to the very state that it had.
 *
 * The function and the words of a check are its name:
 * tests/powercut/test_planted_journal.py has for each fault the check that
 * fails first.
 */
#include "journalled.h"
#include "once.h"
#include "state.h"

#define OPERATIONS 120

/* Programs of whole pages, of parts, of spare bytes; erases of blocks that are
 * full, half full and empty. */
static void operate(struct chip *chip, u32 n)
{
	u32 row = n % 5 * 64 + n / 5 % 12;

	fill(page, 2112, n);
	if (n % 17 == 16)
		erase(chip, n / 17 % 6);
	else if (n % 7 == 3)
		program(chip, row, 2048, page, 64);
	else if (n % 7 == 5)
		program(chip, row, 512, page, 512);
	else
		program(chip, row, 0, page, 2112);
}

/* What is recorded reaches the cells, and once. */
static void test_through(void)
{
	struct journal journal;
	struct chip chip;
	u8 is[2112];

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	fill(page, 2112, 3);
	program(&chip, 5, 0, page, 2112);
	page_content(&chip, 5, is);
	CHECK_EQ(memcmp(is, page, 2112), 0);
	CHECK_EQ(chip.faults.programs, 1);
	erase(&chip, 0);
	page_content(&chip, 5, is);
	memset(page, 0xff, 2112);
	CHECK_EQ(memcmp(is, page, 2112), 0);
	CHECK_EQ(chip.faults.erases, 1);
	end(&chip, &journal);
}

static const char *const ways[] = {"prefix", "subset", "done", "unstable"};

/* What a check does after k operations: it tears the next, and works on. */
static void work(struct journal *journal, u32 k, u32 n)
{
	if (k < journal->recorded && n % 3)
		torn_next(journal, false, torn_way(ways[n % 4]), n);
	operate(journal->chip, n);
	operate(journal->chip, n + 16); /* often an erase */
}

static void check_undone(struct journal *journal, u32 k, u32 n,
			 struct state before)
{
	work(journal, k, n);
	CHECK_EQ(journal_goto(journal, k), 0);
	CHECK_STATE(journal->chip, before);
}

static void test_goto(void)
{
	struct state state[OPERATIONS + 1];
	struct journal journal;
	u32 first, last, i, k;
	struct chip chip;

	begin(&chip, &journal);
	for (i = 0; i < 30; i++)
		operate(&chip, 1000 + i);
	for (i = 0; i < 6; i++)
		read(&chip, i * 64, 0, page, 2112); /* disturbs its block */
	chip.params.faults.program_fail_at = 120; /* a block is worn out then */
	CHECK_EQ(journal_record(&journal), 0);
	first = whole(&chip);
	state[0] = state_of(&chip);
	for (i = 0; i < OPERATIONS; i++) {
		operate(&chip, i);
		state[i + 1] = state_of(&chip);
	}
	last = whole(&chip);
	CHECK_EQ(journal_goto(&journal, 1), -EINVAL);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(journal.recorded, OPERATIONS);
	for (i = 0; i < 150; i++) {
		k = i * 7919 % (OPERATIONS + 1);
		CHECK_EQ(journal_goto(&journal, k), 0);
		CHECK_STATE(&chip, state[k]);
		check_undone(&journal, k, i, state[k]);
		work(&journal, k, i);
	}
	CHECK_EQ(journal_goto(&journal, OPERATIONS + 1), -EINVAL);
	CHECK_EQ(journal_goto(&journal, OPERATIONS), 0);
	CHECK_STATE(&chip, state[OPERATIONS]);
	CHECK_EQ(whole(&chip), last);
	CHECK_EQ(journal_record(&journal), 0);
	CHECK_STATE(&chip, state[0]);
	CHECK_EQ(whole(&chip), first);
	CHECK_EQ(journal.recorded, 0);
	end(&chip, &journal);
}

/* The check's own operations are cut, from the last to the first. */
static void test_back(void)
{
	struct state state[20];
	struct journal journal;
	struct chip chip;
	u32 i, j, first;

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	for (i = 0; i < 40; i++)
		operate(&chip, i);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(journal_goto(&journal, 20), 0);
	first = whole(&chip);
	for (i = 0; i < 20; i++) {
		state[i] = state_of(&chip);
		operate(&chip, 100 + i);
	}
	CHECK_EQ(journal_back(&journal, 21), -EINVAL);
	for (j = 20; j-- > 0;) {
		CHECK_EQ(journal_back(&journal, j), 0);
		CHECK_STATE(&chip, state[j]);
		CHECK_EQ(torn_next(&journal, true, torn_way("subset"), j), 0);
		operate(&chip, 200 + j);
	}
	CHECK_EQ(torn_next(&journal, true, torn_way("done"), 0), -EINVAL);
	CHECK_EQ(journal_goto(&journal, 20), 0);
	CHECK_STATE(&chip, state[0]);
	CHECK_EQ(whole(&chip), first);
	end(&chip, &journal);
}

/* What finds no room is told, and nothing moves any more. */
static void test_full(void)
{
	struct journal journal;
	struct chip chip;
	u32 i;

	start(&chip, &large, NULL);
	CHECK_EQ(journal_open(&journal, &chip, memory, 1000), -ENOSPC);
	CHECK_EQ(journal_open(&journal, &chip, memory, 1 << 20), 0);
	CHECK_EQ(journal_record(&journal), 0);
	for (i = 0; i < 640; i++)
		program(&chip, i, 0, page, 2112);
	CHECK_EQ(journal.lost > 0, true);
	CHECK_EQ(journal.recorded + journal.lost, 640);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(journal_goto(&journal, 1), -ENOSPC);
	end(&chip, &journal);
}

static void test_marks(void)
{
	const struct journal_mark *mark = (const void *)memory;
	struct journal journal;
	struct chip chip;

	begin(&chip, &journal);
	CHECK_EQ(journal_mark(&journal, 1), -EINVAL);
	CHECK_EQ(journal_record(&journal), 0);
	CHECK_EQ(journal_mark(&journal, 7), 0);
	operate(&chip, 0);
	operate(&chip, 1);
	CHECK_EQ(journal_mark(&journal, 8), 0);
	CHECK_EQ(journal.marks, 2);
	CHECK_EQ(chip.op_seq, 2); /* each was done once */
	CHECK_EQ(mark[0].ops, 0);
	CHECK_EQ(mark[0].mark, 7);
	CHECK_EQ(mark[1].ops, 2);
	CHECK_EQ(journal_entry(&journal, 1)->first, 64);
	CHECK_EQ(journal_entry(&journal, 2) == NULL, true);
	end(&chip, &journal);
}

/* A check takes the chip no time, a recording what it always takes. */
static void test_times(void)
{
	struct journal journal;
	struct chip chip;

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	CHECK_EQ(chip.params.t_r_ns, large.t_r_ns);
	CHECK_EQ(journal_stop(&journal), 0);
	CHECK_EQ(chip.params.t_r_ns + chip.params.t_prog_ns, 0);
	CHECK_EQ(chip.params.t_bers_ns + chip.params.t_rc_ns, 0);
	CHECK_EQ(journal_record(&journal), 0);
	CHECK_EQ(chip.params.t_prog_ns, large.t_prog_ns);
	CHECK_EQ(journal_stop(&journal), 0);
	journal_close(&journal);
	CHECK_EQ(chip.params.t_bers_ns, large.t_bers_ns);
	chip_exit(&chip);
}

/* An operation fails, changes nothing, is not recorded, and succeeds when it is
 * made again. */
static void test_once(void)
{
	struct journal journal;
	struct chip chip;

	begin(&chip, &journal);
	CHECK_EQ(journal_record(&journal), 0);
	fill(page, 2112, 3);
	CHECK_EQ(once_arm("program", 2), 0);
	CHECK_EQ(program(&chip, 5, 0, page, 2112) & STATUS_FAIL, 0);
	CHECK_EQ(once_has_failed(), false);
	CHECK_EQ(program(&chip, 6, 0, page, 2112) & STATUS_FAIL, STATUS_FAIL);
	CHECK_EQ(once_has_failed(), true);
	CHECK_EQ(chip.state[6], 0);
	CHECK_EQ(journal.recorded, 1);
	CHECK_EQ(program(&chip, 6, 0, page, 2112) & STATUS_FAIL, 0);
	CHECK_EQ(journal.recorded, 2);
	CHECK_EQ(once_arm("erase", 1), 0);
	CHECK_EQ(once_has_failed(), false);
	CHECK_EQ(erase(&chip, 0) & STATUS_FAIL, STATUS_FAIL);
	CHECK_EQ(chip.state[5] != 0, true);
	CHECK_EQ(erase(&chip, 0) & STATUS_FAIL, 0);
	CHECK_EQ(chip.state[5], 0);
	CHECK_EQ(chip.block[0].flags, 0);
	CHECK_EQ(once_arm("read", 7), 0);
	CHECK_EQ(once_read_fails(6), false);
	CHECK_EQ(once_read_fails(7), true);
	CHECK_EQ(once_read_fails(7), false);
	CHECK_EQ(once_arm("read", 7), 0);
	CHECK_EQ(once_arm("none", 0), 0);
	CHECK_EQ(once_read_fails(7), false);
	CHECK_EQ(once_arm("melt", 1), -EINVAL);
	end(&chip, &journal);
}

int main(void)
{
	test_through();
	test_goto();
	test_back();
	test_full();
	test_marks();
	test_times();
	test_once();
	return verdict();
}
