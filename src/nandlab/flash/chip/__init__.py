# SPDX-License-Identifier: GPL-2.0-or-later
"""What a chip leaves: its image, the file it is kept in, its log of operations."""
