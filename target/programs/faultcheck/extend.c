// SPDX-License-Identifier: GPL-2.0-or-later
/* cutcheck's, compiled into this program too. */
#include "../cutcheck/extend.c"
