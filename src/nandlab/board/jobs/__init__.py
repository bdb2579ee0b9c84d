# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract of a board: a job, what it brings, and what builds that."""
