# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of board, one file each: a board's file names the module by ``kind``."""
