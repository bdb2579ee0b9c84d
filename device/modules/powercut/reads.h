/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How simnand's rawnand.c reads a page here: once the bus may fail (once.h). */
#ifndef POWERCUT_READS_H
#define POWERCUT_READS_H

#include <linux/mtd/rawnand.h>

/* files.c: as the kernel's function; -EIO: this is the read that fails. */
int powercut_read_page(struct nand_chip *nand, unsigned int page,
		       unsigned int at, void *to, unsigned int bytes);

#define nand_read_page_op powercut_read_page

#endif
