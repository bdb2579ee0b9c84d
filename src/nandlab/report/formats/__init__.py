# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats of tables to take away, one file each: a verb's ``--format`` is the name of a module."""
