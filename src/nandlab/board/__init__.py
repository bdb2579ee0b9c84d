# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards: what they are made of, and how they run a job and record its steps."""
