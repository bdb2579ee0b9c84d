/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4) of bytes as they come. */
#ifndef LIB_SHA_H
#define LIB_SHA_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK 64
#define SHA256_HEX   65 /* characters of a digest, its NUL included */

struct sha256 {
	uint32_t state[8];
	unsigned char block[SHA256_BLOCK];
	uint64_t bytes; /* taken so far */
};

void sha256_open(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
/* The digest of all bytes added, in lower-case hexadecimal. */
void sha256_close(struct sha256 *sha, char hex[SHA256_HEX]);

#endif
