# SPDX-License-Identifier: GPL-2.0-or-later
"""From a planned trial to its result."""
