/* SPDX-License-Identifier: GPL-2.0-or-later */
/* U-Boot's core has kmalloc() from here; ours is in yportenv.h. */
