# SPDX-License-Identifier: GPL-2.0-or-later
"""nandlab: which flash file system should this product use, which must it avoid, and why."""

__version__ = "0.1.0"
