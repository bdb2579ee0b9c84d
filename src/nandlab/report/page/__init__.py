# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of a run and of a trace, and what a terminal shows of a run."""
