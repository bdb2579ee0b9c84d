# SPDX-License-Identifier: GPL-2.0-or-later
"""Flash chips: the simulated one, what file systems leave on it, and what reading that costs."""
