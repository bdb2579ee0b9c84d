# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of results, for a page, a terminal and a file."""
