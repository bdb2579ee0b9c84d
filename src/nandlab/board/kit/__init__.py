# SPDX-License-Identifier: GPL-2.0-or-later
"""What boards are made of and built by: locked packages, and roots of them to run programs in."""
