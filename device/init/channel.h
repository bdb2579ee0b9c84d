// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The status channel to the host: each record is a line of JSON.
 */
#ifndef NANDLAB_INIT_CHANNEL_H
#define NANDLAB_INIT_CHANNEL_H

#include <stddef.h>

void channel_open(void);

/* Adds to the record that is being written, as printf does. */
void record(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Adds a member whose value is the content of a file; a missing file counts as
 * empty. Of a file larger than 8 MiB it adds the first 8 MiB, and a member
 * KEY_bytes with the file's size.
 */
void record_file(const char *key, const char *path);

/* Ends the record, and waits until its line has been sent to the host. */
void record_end(void);

/* Tells the host what failed, with errno's reason, and reboots. */
void die(const char *what) __attribute__((noreturn));

/* The first 8 MiB of a file, to be freed; NULL if it cannot be opened. */
char *read_file(const char *path, size_t *size);

#endif
