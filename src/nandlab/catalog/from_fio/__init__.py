# SPDX-License-Identifier: GPL-2.0-or-later
"""From a job file of fio to a workload that does its jobs on the board."""
