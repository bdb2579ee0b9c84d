# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of FFSMark, the workload."""
