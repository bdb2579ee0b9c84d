/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memcpy() and memset() for the chip's files here: by words. The kernel's are
 * string instructions, of which an emulator makes a loop that it leaves and
 * enters again for each word; pages are copied so often that this was a sixth
 * of a point's time.
 */
#ifndef POWERCUT_COPIES_H
#define POWERCUT_COPIES_H

#include <linux/string.h>
#include <linux/types.h>

#define COPIES_BYTES 64 /* a turn */

static inline void *copies_copy(void *to, const void *from, size_t bytes)
{
	const u64 *f = from;
	u64 *t = to;
	int i;

	for (; bytes >= COPIES_BYTES; bytes -= COPIES_BYTES) {
#pragma GCC unroll 8
		for (i = 0; i < 8; i++)
			t[i] = f[i];
		t += 8;
		f += 8;
		barrier(); /* else the compiler makes memcpy() of it again */
	}
	memcpy(t, f, bytes);
	return to;
}

static inline void *copies_fill(void *to, u8 byte, size_t bytes)
{
	u64 word = byte * 0x0101010101010101u;
	u64 *t = to;
	int i;

	for (; bytes >= COPIES_BYTES; bytes -= COPIES_BYTES) {
#pragma GCC unroll 8
		for (i = 0; i < 8; i++)
			t[i] = word;
		t += 8;
		barrier();
	}
	memset(t, byte, bytes);
	return to;
}

#undef memcpy
#undef memset
#define memcpy(to, from, bytes) copies_copy(to, from, bytes)
#define memset(to, byte, bytes) copies_fill(to, byte, bytes)

#endif
