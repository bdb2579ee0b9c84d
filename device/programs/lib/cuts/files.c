// SPDX-License-Identifier: GPL-2.0-or-later
/* The oracle of files and folders. */
#include "cuts/files.h"

const struct oracle cuts_files = {
	.read = cuts_files_read,
	.free = cuts_files_free,
	.play = cuts_files_play,
	.play_end = cuts_files_play_end,
	.judge = cuts_files_judge,
	.look = cuts_files_look,
	.extends = true,
};
