# SPDX-License-Identifier: GPL-2.0-or-later
"""What every room may use: errors, paths, digests, numbers in words."""
