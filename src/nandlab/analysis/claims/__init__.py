# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's claims beside a run: numbers, and verdicts by one set of rules."""
