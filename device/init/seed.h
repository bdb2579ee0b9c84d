// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Seeds the kernel's random numbers. Included once, by who has main().
 */
#ifndef NANDLAB_INIT_SEED_H
#define NANDLAB_INIT_SEED_H

#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "channel.h"

#define RANDOM	   "/dev/urandom"
#define SEED_BYTES 32 /* as many as the kernel needs before it gives any */

/*
 * A virtual board has no source of entropy. So who reads random numbers first
 * waits a second, in which the kernel watches its own timers. Each job would do
 * so anew; seeded before the state is saved, none does. The seed is fixed, and
 * so are all numbers that follow: nothing secret is made on a board.
 */
static void seed_random(void)
{
	union {
		struct rand_pool_info info;
		char room[sizeof(struct rand_pool_info) + SEED_BYTES];
	} given = {
		.info = {.entropy_count = SEED_BYTES * 8,
			 .buf_size = SEED_BYTES},
	};
	int fd = open(RANDOM, O_WRONLY);

	memset(given.room + sizeof(given.info), 1, SEED_BYTES);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &given) || close(fd))
		die(RANDOM);
}

#endif
