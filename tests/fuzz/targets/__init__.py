# SPDX-License-Identifier: GPL-2.0-or-later
"""One file per target, each with its ``DEVICE``."""
