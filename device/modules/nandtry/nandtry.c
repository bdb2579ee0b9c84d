// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nandtry: gives the controller of mtd0 commands that the NAND core never
 * gives, and hooks a callback of MTD that others hook too.
 *
 * For each command, loading asks the controller whether it knows it, then gives
 * it without an address, and logs which commands were accepted. It does not
 * give those that begin an array operation, which need an address. With hook=1
 * it then replaces MTD's read function by one that calls the one before;
 * unloading restores that.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mtd/rawnand.h>

static bool hook;
module_param(hook, bool, 0444);
MODULE_PARM_DESC(hook, "Hook MTD's read function (N)");

static struct mtd_info *device, *master;
static int (*was)(struct mtd_info *mtd, loff_t from, struct mtd_oob_ops *ops);
static uint reads;
module_param(reads, uint, 0444);
MODULE_PARM_DESC(reads, "Calls of that hook so far");

static int read(struct mtd_info *mtd, loff_t from, struct mtd_oob_ops *ops)
{
	reads++;
	return was(mtd, from, ops);
}

static bool begins_work(unsigned int opcode)
{
	return opcode == NAND_CMD_READSTART || opcode == NAND_CMD_PAGEPROG ||
	       opcode == NAND_CMD_ERASE2;
}

static void ask(struct nand_chip *nand, bool check_only, const char *what)
{
	char text[3 * 256 + 1] = "";
	unsigned int opcode, at = 0;
	int err;

	for (opcode = 0; opcode < 256; opcode++) {
		struct nand_op_instr cycles[] = {NAND_OP_CMD(opcode, 0)};
		struct nand_operation op = NAND_OPERATION(0, cycles);

		if (!check_only && begins_work(opcode))
			continue;
		err = nand->controller->ops->exec_op(nand, &op, check_only);
		if (!err)
			at += scnprintf(text + at, sizeof(text) - at, " %02x",
					opcode);
		else if (err != -EOPNOTSUPP)
			pr_err("%02x: error %d\n", opcode, err);
	}
	pr_info("%s%s\n", what, text);
}

static int __init nandtry_init(void)
{
	device = get_mtd_device(NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	master = mtd_get_master(device);
	ask(mtd_to_nand(master), true, "knows");
	ask(mtd_to_nand(master), false, "takes");
	was = master->_read_oob;
	if (hook)
		WRITE_ONCE(master->_read_oob, read);
	return 0;
}

static void __exit nandtry_exit(void)
{
	if (hook)
		WRITE_ONCE(master->_read_oob, was);
	put_mtd_device(device);
}

module_init(nandtry_init);
module_exit(nandtry_exit);
MODULE_DESCRIPTION("Asks a NAND controller what it can do");
MODULE_LICENSE("GPL");
