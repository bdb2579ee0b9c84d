/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filetree's, for what of it is compiled here. */
#include "../filetree/exact.h"
