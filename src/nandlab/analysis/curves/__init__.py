# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over a parameter or over time, their fits, and models of read-ahead beside them."""
