/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a device-mapper device of the name that is given first, linear over the
 * block device that is given second: "dmlinear NAME /dev/DEVICE SECTORS";
 * "dmlinear NAME" takes it away.
 */
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char words[256];
} ask;

static void call(int control, unsigned long request, const char *name)
{
	ask.head.version[0] = DM_VERSION_MAJOR;
	ask.head.data_size = sizeof(ask);
	ask.head.data_start = sizeof(ask.head);
	strncpy(ask.head.name, name, sizeof(ask.head.name) - 1);
	if (ioctl(control, request, &ask) < 0) {
		perror(name);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int control = open("/dev/mapper/control", O_RDWR);

	if (control < 0 || (argc != 2 && argc != 4)) {
		fprintf(stderr,
			"dmlinear NAME [/dev/DEVICE SECTORS]; needs dm-mod\n");
		return 1;
	}
	if (argc == 2) {
		call(control, DM_DEV_REMOVE, argv[1]);
		return 0;
	}
	call(control, DM_DEV_CREATE, argv[1]);
	memset(&ask, 0, sizeof(ask));
	ask.head.target_count = 1;
	ask.target.length = strtoull(argv[3], NULL, 10);
	strcpy(ask.target.target_type, "linear");
	snprintf(ask.words, sizeof(ask.words), "%s 0", argv[2]);
	call(control, DM_TABLE_LOAD, argv[1]);
	memset(&ask, 0, sizeof(ask));
	call(control, DM_DEV_SUSPEND, argv[1]);
	return 0;
}
