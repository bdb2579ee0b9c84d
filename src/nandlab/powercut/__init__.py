# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts at each flash operation of a load: what is tried, how, and what was found."""
