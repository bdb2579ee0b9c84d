// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flashmon: each page of raw NAND that is read or programmed, each block that
 * is erased, for which task and how long it took; and what MTD was asked for.
 * This file knows the chips and partitions, flash_where.c which of them a page
 * is in; flash_pages.c and flash_calls.c have the hooks.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "flash.h"

struct flash_chip flash_chips[FLASH_CHIPS_MAX];
struct flash_device flash_devices[FLASH_PARTS_MAX];
DEFINE_MUTEX(flash_lock);
bool flash_log_hits = true, flash_log_calls;
unsigned int flash_devices_end;

static bool started;
/* The filter: a device by name or number; empty for all. */
static char wanted[64];

static struct probe *const probes[] = {&flash_erase_probe};

/* The devices have changed: drop the cached range. */
static void forget_near(struct flash_chip *chip)
{
	mutex_lock(&chip->nand->controller->lock);
	chip->near = (struct flash_near){};
	mutex_unlock(&chip->nand->controller->lock);
}

/* Devices of the NAND core are those that have its read function. */
static bool is_raw_nand(const struct mtd_info *master)
{
	char name[KSYM_SYMBOL_LEN];

	if (master->type != MTD_NANDFLASH && master->type != MTD_MLCNANDFLASH)
		return false;
	sprint_symbol_no_offset(name, (unsigned long)master->_read_oob);
	return !strcmp(name, "nand_read_oob") ||
	       !strncmp(name, "nand_read_oob ", 14);
}

static bool device_is(const struct flash_device *device, const char *name)
{
	unsigned int number;

	if (!kstrtouint(name, 10, &number))
		return device->number == number;
	return !strcmp(device->name, name);
}

/* Set which pages of each chip pass the filter. False: it names no device. */
static bool apply_filter(const char *name)
{
	struct flash_device *device = flash_devices;
	bool found = !*name;
	unsigned int i;

	for (i = 0; i < FLASH_CHIPS_MAX; i++) {
		flash_chips[i].first_page = 0;
		flash_chips[i].end_page = *name ? 0 : U64_MAX;
	}
	for (; *name && device < &flash_devices[FLASH_PARTS_MAX]; device++) {
		if (!device->chip || !device_is(device, name))
			continue;
		device->chip->first_page = device->first_page;
		device->chip->end_page = device->end_page;
		found = true;
	}
	return found;
}

static int set_filter(const char *name)
{
	const char *was = wanted;
	bool found;

	if (!strcmp(name, "all"))
		name = "";
	mutex_lock(&flash_lock);
	found = strlen(name) < sizeof(wanted) && apply_filter(name);
	if (found)
		strscpy(wanted, name, sizeof(wanted));
	else
		apply_filter(was);
	mutex_unlock(&flash_lock);
	if (!found)
		return tracers_refuse(-ENODEV,
				      "flashmon: no raw NAND device '%s'; "
				      "/proc/tracers/names lists them",
				      name);
	return 0;
}

static void hook(struct flash_chip *chip)
{
	flash_hook_pages(chip);
	flash_hook_calls(chip);
	chip->hooked = true;
}

/* Whoever hooked on top of us calls our hooks, so these must not go first.
 * False: this module is being unloaded. */
static bool stay(struct flash_chip *chip)
{
	if (!chip->stays) {
		pr_warn("flashmon: somebody else took MTD's callbacks since; "
			"our hooks stay in place and pass calls on; when that "
			"one has gone, start and stop again\n");
		chip->stays = try_module_get(THIS_MODULE);
	}
	return chip->stays;
}

static void unhook(struct flash_chip *chip)
{
	while (!flash_pages_are_ours(chip) || !flash_calls_are_ours(chip)) {
		if (stay(chip))
			return;
		schedule_timeout_uninterruptible(HZ);
	}
	flash_unhook_pages(chip);
	flash_unhook_calls(chip);
	chip->hooked = false;
	if (chip->stays)
		module_put(THIS_MODULE);
	chip->stays = false;
}

static struct flash_chip *chip_add(struct mtd_info *master)
{
	struct flash_chip *chip;
	unsigned int i;

	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].mtd == master)
			return &flash_chips[i];
	for (chip = flash_chips; chip->mtd; chip++)
		if (chip == &flash_chips[FLASH_CHIPS_MAX - 1])
			return NULL;
	if (!is_raw_nand(master))
		return NULL;
	*chip = (struct flash_chip){.nand = mtd_to_nand(master)};
	chip->blocks = div_u64(master->size, master->erasesize);
	chip->block = vzalloc(chip->blocks * sizeof(*chip->block));
	if (!chip->block) {
		chip->nand = NULL;
		return NULL;
	}
	chip->mtd = master;
	return chip;
}

/* Nobody calls the chip any more, even if others hooked on top of us. */
static void chip_remove(struct flash_chip *chip)
{
	if (chip->hooked)
		unhook(chip);
	if (chip->stays)
		module_put(THIS_MODULE);
	vfree(chip->block);
	*chip = (struct flash_chip){};
}

static struct flash_device *free_device(void)
{
	unsigned int i;

	for (i = 0; i < FLASH_PARTS_MAX; i++)
		if (!flash_devices[i].chip)
			return &flash_devices[i];
	return NULL;
}

/* MTD calls this for each device, also for those that exist already. */
static void device_added(struct mtd_info *mtd)
{
	struct flash_device *device;
	struct flash_chip *chip;
	u64 first;

	mutex_lock(&flash_lock);
	device = free_device();
	chip = device ? chip_add(mtd_get_master(mtd)) : NULL;
	if (chip) {
		first = mtd_get_master_ofs(mtd, 0);
		device->number = mtd->index;
		device->name = mtd->name;
		device->first_page = first >> chip->nand->page_shift;
		device->end_page =
			(first + mtd->size) >> chip->nand->page_shift;
		device->chip = chip;
		flash_devices_end = max_t(unsigned int, flash_devices_end,
					  device - flash_devices + 1);
		chip->devices++;
		forget_near(chip);
		apply_filter(wanted);
		if (started && !chip->hooked)
			hook(chip);
	}
	mutex_unlock(&flash_lock);
}

static void device_removed(struct mtd_info *mtd)
{
	struct flash_device *device = flash_devices;
	struct flash_chip *chip;

	mutex_lock(&flash_lock);
	for (; device < &flash_devices[FLASH_PARTS_MAX]; device++) {
		chip = device->chip;
		if (!chip || device->number != mtd->index)
			continue;
		*device = (struct flash_device){};
		if (--chip->devices)
			forget_near(chip);
		else
			chip_remove(chip);
		apply_filter(wanted);
	}
	mutex_unlock(&flash_lock);
}

static struct mtd_notifier notifier = {
	.add = device_added,
	.remove = device_removed,
};

static int flash_start(void)
{
	unsigned int i;
	int err = probe_arm(&flash_erase_probe);

	if (err)
		return tracers_refuse(err, "flashmon: %s cannot be probed: %d",
				      flash_erase_probe.name, err);
	mutex_lock(&flash_lock);
	started = true;
	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].mtd && !flash_chips[i].hooked)
			hook(&flash_chips[i]);
	mutex_unlock(&flash_lock);
	return 0;
}

static void flash_stop(void)
{
	unsigned int i;

	probes_disarm(probes, ARRAY_SIZE(probes));
	mutex_lock(&flash_lock);
	started = false;
	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].hooked)
			unhook(&flash_chips[i]);
	mutex_unlock(&flash_lock);
}

static void flash_reset(void)
{
	unsigned int i;

	probe_forget_missed(&flash_erase_probe);
	mutex_lock(&flash_lock);
	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].mtd)
			flash_blocks_reset(&flash_chips[i]);
	mutex_unlock(&flash_lock);
}

static u64 flash_missed(void)
{
	return probe_missed(&flash_erase_probe);
}

static int set_switch(bool *value, const char *word, const char *rest)
{
	if (strcmp(rest, "on") && strcmp(rest, "off"))
		return tracers_refuse(-EINVAL, "flashmon: %s on or off", word);
	*value = !strcmp(rest, "on");
	return 0;
}

static int flash_command(const char *word, char *rest)
{
	if (!strcmp(word, "mtd"))
		return set_filter(rest);
	if (!strcmp(word, "hits"))
		return set_switch(&flash_log_hits, word, rest);
	if (!strcmp(word, "calls"))
		return set_switch(&flash_log_calls, word, rest);
	return -ENOTTY;
}

static void flash_status(struct seq_file *file)
{
	unsigned int i;

	seq_printf(file, "flashmon.mtd %s\n", *wanted ? wanted : "all");
	seq_printf(file, "flashmon.hits_logged %s\n",
		   flash_log_hits ? "on" : "off");
	seq_printf(file, "flashmon.calls_logged %s\n",
		   flash_log_calls ? "on" : "off");
	mutex_lock(&flash_lock);
	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].mtd)
			flash_blocks_status(file, &flash_chips[i]);
	mutex_unlock(&flash_lock);
}

static void flash_names(struct seq_file *file)
{
	const struct flash_device *device = flash_devices;

	mutex_lock(&flash_lock);
	for (; device < &flash_devices[FLASH_PARTS_MAX]; device++)
		if (device->chip)
			seq_printf(file, "mtd %d %llu %llu %u %u %u %s\n",
				   device->number, device->first_page,
				   device->end_page,
				   device->chip->mtd->writesize,
				   device->chip->mtd->erasesize,
				   device->chip->mtd->oobsize, device->name);
	mutex_unlock(&flash_lock);
}

static const char *op_of(const struct trace_record *r)
{
	switch (r->type) {
	case TRACE_FLASH_READ:
		return "R";
	case TRACE_FLASH_PROGRAM:
		return "W";
	case TRACE_FLASH_ERASE:
		return "E";
	case TRACE_FLASH_HIT:
		return "H";
	}
	return trace_type_name(r->type);
}

static void flash_show(struct seq_file *file, const struct trace_record *r)
{
	const char *kind = r->flags & TRACE_OOB	      ? "oob"
			   : r->flags & TRACE_RAW     ? "raw"
			   : r->flags & TRACE_SUBPAGE ? "subpage"
						      : "data";

	seq_printf(file, "%llu;%s;%llu;%s;%llu;%s;%u;%u;%d\n", r->start_ns,
		   op_of(r), r->object, trace_task_name(r->task), r->latency_ns,
		   kind, r->size, r->device, r->result);
}

struct monitor flashmon = {
	.name = "flashmon",
	.first_type = TRACE_FLASH_FIRST,
	.last_type = TRACE_FLASH_LAST,
	.start = flash_start,
	.stop = flash_stop,
	.reset = flash_reset,
	.command = flash_command,
	.status = flash_status,
	.names = flash_names,
	.missed = flash_missed,
	.columns = "start_ns;op;page;task;latency_ns;kind;bytes;mtd;result",
	.show = flash_show,
};

static int __init flashmon_init(void)
{
	int err;

	apply_filter("");
	register_mtd_user(&notifier);
	err = monitor_register(&flashmon);
	if (!err)
		err = flash_blocks_init();
	if (!err)
		return 0;
	if (flashmon.file)
		monitor_unregister(&flashmon);
	unregister_mtd_user(&notifier);
	return err;
}

static void __exit flashmon_exit(void)
{
	flash_blocks_exit();
	monitor_unregister(&flashmon);
	unregister_mtd_user(&notifier);
}

module_init(flashmon_init);
module_exit(flashmon_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Traces pages and blocks of raw NAND");
