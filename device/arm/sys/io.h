// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What <sys/io.h> is on an x86, for programs that ring the virtual board's
 * doorbell: an ARM has no ports. There the doorbell is a PCI device, QEMU's
 * pvpanic-pci, whose first byte takes what an x86 writes to a port; the port's
 * number says nothing. Needs /sys.
 */
#ifndef NANDLAB_ARM_SYS_IO_H
#define NANDLAB_ARM_SYS_IO_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define DOORBELL_DEVICE "/sys/bus/pci/devices/0000:00:1e.0/"
#define DOORBELL_PAGE	4096

static volatile unsigned char *doorbell;

/* Where the device's first memory begins in its page; -1 if it has none. */
static inline long doorbell_offset(void)
{
	unsigned long long start;
	FILE *f = fopen(DOORBELL_DEVICE "resource", "r");
	int got = f ? fscanf(f, "%llx", &start) : 0;

	if (f)
		fclose(f);
	return got == 1 ? (long)(start % DOORBELL_PAGE) : -1;
}

static inline int doorbell_enable(void)
{
	int file = open(DOORBELL_DEVICE "enable", O_WRONLY);
	int failed = file < 0 || write(file, "1", 1) != 1;

	return file < 0 || close(file) || failed ? -1 : 0;
}

/* Opens the way to the doorbell; -1, and errno, if there is none. */
static inline int ioperm(unsigned long from, unsigned long count, int on)
{
	long offset = doorbell_offset();
	void *page;
	int file;

	(void)from, (void)count, (void)on;
	if (offset < 0 || doorbell_enable())
		return -1;
	file = open(DOORBELL_DEVICE "resource0", O_RDWR);
	if (file < 0)
		return -1;
	page = mmap(NULL, DOORBELL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    file, 0);
	close(file);
	if (page == MAP_FAILED)
		return -1;
	doorbell = (volatile unsigned char *)page + offset;
	return 0;
}

static inline void outb(unsigned char value, unsigned short port)
{
	(void)port;
	*doorbell = value;
}

#endif
