# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run answers: criteria and limits, the verdict, what is open, claims of papers."""
