// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands to the chip, for root, written to files of
 * /sys/kernel/debug/simnand. A command that is not understood, or cannot be
 * done, fails its write. None costs flash time.
 *
 *   reset  anything            zero the counts
 *   phase  NAME                close the phase, open another; "" only closes
 *   log_control  start|stop|clear
 *   power  off|on              cut power now; restore it
 *   power  cut N|cut +N        cut power in program or erase N, or in the N-th
 *                              from now
 *   flip   PAGE BIT            that bit reads wrong until its block's erase
 *   age    DAYS READS          so many days pass, in which each block with
 *                              data is read so many times
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "simnand.h"

#define COMMAND_MAX 64

/* A command runs under the lock. Returns 0 or an errno. */
typedef int (*command_fn)(struct simnand *sim, const char *words);

static ssize_t run_command(struct file *file, const char __user *buf,
			   size_t bytes, command_fn command)
{
	struct simnand *sim = file->private_data;
	char words[COMMAND_MAX];
	int err;

	if (bytes >= sizeof(words))
		return -EINVAL;
	if (copy_from_user(words, buf, bytes))
		return -EFAULT;
	words[bytes] = '\0';
	mutex_lock(&sim->lock);
	err = command(sim, strim(words));
	mutex_unlock(&sim->lock);
	return err ? err : bytes;
}

static int reset_command(struct simnand *sim, const char *words)
{
	chip_reset_counts(&sim->chip);
	sim->late_ns = 0;
	return 0;
}

static int phase_command(struct simnand *sim, const char *words)
{
	const char *c;

	if (strlen(words) >= PHASE_NAME_MAX)
		return -EINVAL;
	for (c = words; *c; c++)
		if (!isgraph(*c))
			return -EINVAL;
	return phases_mark(&sim->chip.phases, &sim->chip.counts, words,
			   ktime_get_ns());
}

static int log_command(struct simnand *sim, const char *words)
{
	struct oplog *log = &sim->chip.log;

	if (!log->room)
		return -ENXIO; /* log_entries=0 */
	if (!strcmp(words, "start"))
		log->on = true;
	else if (!strcmp(words, "stop"))
		log->on = false;
	else if (!strcmp(words, "clear"))
		chip_log_clear(&sim->chip);
	else
		return -EINVAL;
	return 0;
}

static int cut_command(struct simnand *sim, const char *number)
{
	u64 n, from = *number == '+' ? sim->chip.op_seq : 0;
	int err = kstrtou64(number, 0, &n);

	if (err)
		return err;
	sim->chip.faults.power_cut_at = from + n;
	return 0;
}

static int power_command(struct simnand *sim, const char *words)
{
	if (!strncmp(words, "cut ", 4))
		return cut_command(sim, skip_spaces(words + 4));
	if (!strcmp(words, "off"))
		chip_power(&sim->chip, false);
	else if (!strcmp(words, "on"))
		chip_power(&sim->chip, true);
	else
		return -EINVAL;
	return 0;
}

static int flip_command(struct simnand *sim, const char *words)
{
	unsigned int page, bit;
	char more;

	if (sscanf(words, "%u %u %c", &page, &bit, &more) != 2)
		return -EINVAL;
	return fault_flip_bit(&sim->chip, page, bit);
}

static int age_command(struct simnand *sim, const char *words)
{
	unsigned int days, reads;
	char more;

	if (sscanf(words, "%u %u %c", &days, &reads, &more) != 2)
		return -EINVAL;
	return faults_age(&sim->chip, days, reads);
}

#define COMMAND_FILE(name)                                                     \
	static ssize_t name##_write(struct file *file, const char __user *buf, \
				    size_t bytes, loff_t *pos)                 \
	{                                                                      \
		return run_command(file, buf, bytes, name##_command);          \
	}                                                                      \
	static const struct file_operations name##_fops = {                    \
		.owner = THIS_MODULE,                                          \
		.open = simple_open,                                           \
		.write = name##_write,                                         \
	}

COMMAND_FILE(reset);
COMMAND_FILE(phase);
COMMAND_FILE(log);
COMMAND_FILE(power);
COMMAND_FILE(flip);
COMMAND_FILE(age);

void simnand_control_add(struct simnand *sim)
{
	debugfs_create_file("reset", 0200, sim->dir, sim, &reset_fops);
	debugfs_create_file("phase", 0200, sim->dir, sim, &phase_fops);
	debugfs_create_file("log_control", 0200, sim->dir, sim, &log_fops);
	debugfs_create_file("power", 0200, sim->dir, sim, &power_fops);
	debugfs_create_file("flip", 0200, sim->dir, sim, &flip_fops);
	debugfs_create_file("age", 0200, sim->dir, sim, &age_fops);
}
