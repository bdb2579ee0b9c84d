# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile input for all that reads foreign files: ``make fuzz``.

A target (``targets/``, a file each) draws the files of a case from a seed, and takes them as a user
would have them read. Each must succeed or be refused in words, within a time and an amount of
memory. What was ever found lies in ``corpus/`` and is tried first.
"""
