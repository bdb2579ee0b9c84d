# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over the commits of a git tree: each commit's run, a bisection, a series."""
