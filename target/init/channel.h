// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The status channel: each record is a line of JSON that the host waits for.
 */
#ifndef NANDLAB_INIT_CHANNEL_H
#define NANDLAB_INIT_CHANNEL_H

#include <stddef.h>

void channel_open(void);

/* Adds to the record that is being written, as printf does. */
void record(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Adds a member whose value is what a file holds; none counts as empty. Of more
 * than 8 MiB it is the start, and a member KEY_bytes has the file's true size.
 */
void record_file(const char *key, const char *path);

/* Ends the record: its line is on its way to the host when this returns. */
void record_end(void);

/* Tells the host what failed, with errno's reason, and reboots. */
void die(const char *what) __attribute__((noreturn));

/* The start of a file, at most 8 MiB, to be freed; NULL if it is not there. */
char *read_file(const char *path, size_t *size);

#endif
