# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board: how it is reached, held, guarded and left as it was."""
