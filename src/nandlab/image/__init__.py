# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders to chip images and back."""
