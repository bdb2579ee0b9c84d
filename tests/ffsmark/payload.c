// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a whole turn of the payload of a kind: payload KIND COMPRESSIBILITY.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

int main(int argc, char **argv)
{
	struct payload payload;
	int kind = 0;

	if (argc != 3)
		return 2;
	while (payload_names[kind] && strcmp(payload_names[kind], argv[1]))
		kind++;
	payload_open(&payload, kind, 7, atof(argv[2]), 4096);
	for (size_t done = 0; done < PAYLOAD_REPEAT; done += 4096)
		fwrite(payload_next(&payload, 4096), 4096, 1, stdout);
	payload_close(&payload);
	return 0;
}
