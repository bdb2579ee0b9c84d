// SPDX-License-Identifier: GPL-2.0-or-later
/* filetree's, compiled into this program too. */
#include "../filetree/exact.c"
