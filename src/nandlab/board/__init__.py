# SPDX-License-Identifier: GPL-2.0-or-later
"""From a job to its record: what a board is made of, and how it is run."""
