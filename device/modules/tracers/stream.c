// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The binary records: /proc/tracers/records. Reading takes them out; records
 * that were overwritten before they could be read are counted. Those of a CPU
 * come in the order in which their events ended. The file ends when there are
 * no more.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "core.h"

#define CHUNK 64 /* records copied at a time */

/* tracers_lock allows one reader at a time, and keeps reset out. */
static struct trace_record chunk[CHUNK];

int stream_open(struct inode *inode, struct file *file)
{
	return 0;
}

static ssize_t give_header(char __user *buf, size_t bytes)
{
	struct trace_header header = {
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.record_bytes = sizeof(struct trace_record),
		.time_ns = tracers_clock(),
		.type = TRACE_HEADER,
	};
	struct ring_sums sums;

	if (bytes < sizeof(header))
		return -EINVAL;
	rings_sum(&sums);
	header.lost = sums.lost;
	header.written = sums.written;
	header.missed = sums.missed + tracers_missed();
	if (copy_to_user(buf, &header, sizeof(header)))
		return -EFAULT;
	return sizeof(header);
}

/* Copy records of a ring to the reader, at most max. -EFAULT takes none out. */
static int give_records(struct ring *ring, char __user *buf, size_t max)
{
	u64 from = ring->taken;
	int n = ring_copy(ring, &from, chunk, min_t(size_t, max, CHUNK));

	if (copy_to_user(buf, chunk, n * sizeof(*chunk)))
		return -EFAULT;
	ring->not_taken += from - n - ring->taken;
	count_release(&ring->taken, from); /* the writer may use them now */
	return n;
}

static ssize_t give(char __user *buf, size_t bytes)
{
	size_t given = 0, max = bytes / sizeof(*chunk);
	unsigned int cpu;
	int n;

	if (!max)
		return -EINVAL;
	for_each_possible_cpu(cpu)
	{
		do {
			n = give_records(ring_of(cpu),
					 buf + given * sizeof(*chunk),
					 max - given);
			if (n < 0)
				return given ? given * sizeof(*chunk) : n;
			given += n;
		} while (n && given < max);
	}
	return given * sizeof(*chunk);
}

ssize_t stream_read(struct file *file, char __user *buf, size_t bytes,
		    loff_t *pos)
{
	ssize_t given;

	mutex_lock(&tracers_lock);
	given = *pos ? give(buf, bytes) : give_header(buf, bytes);
	mutex_unlock(&tracers_lock);
	if (given > 0)
		*pos += given;
	return given;
}
