# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's side of the tracers: setting them up, reading what they recorded."""
