# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracers on a board write: how they are started, their records, time in parts."""
