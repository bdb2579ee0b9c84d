# SPDX-License-Identifier: GPL-2.0-or-later
"""What file systems leave on flash: each decoder turns a partition into a Layout."""
