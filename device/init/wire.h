// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual board's end of the channel: a serial port. A board without its
 * channel is of no use, and reboots: the host sees that it is gone.
 */
#ifndef NANDLAB_INIT_WIRE_H
#define NANDLAB_INIT_WIRE_H

#include <stdio.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include "channel.h"

#ifdef __arm__ /* the console is no ttyS there */
#define CHANNEL "/dev/ttyS0"
#else
#define CHANNEL "/dev/ttyS1"
#endif

static FILE *channel;

static inline void wire_open(void)
{
	struct termios tio;

	channel = fopen(CHANNEL, "w");
	if (!channel || tcgetattr(fileno(channel), &tio))
		die(CHANNEL);
	cfmakeraw(&tio);
	cfsetspeed(&tio, B115200);
	if (tcsetattr(fileno(channel), TCSANOW, &tio))
		die(CHANNEL);
}

static inline int wire_drain(void)
{
	return tcdrain(fileno(channel));
}

static inline void wire_give_up(void)
{
	sync();
	reboot(RB_AUTOBOOT);
}

#endif
