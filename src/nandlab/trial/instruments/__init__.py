# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruments: what is measured beside a trial's load, one file each, one interface."""
