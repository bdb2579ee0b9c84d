# SPDX-License-Identifier: GPL-2.0-or-later
"""From a strace of a program on the user's own device to a workload that replays its calls."""
