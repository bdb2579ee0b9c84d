# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual board: QEMU, its memory, and its saved states."""
