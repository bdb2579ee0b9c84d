# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between two runs, or between a run and its baseline."""
