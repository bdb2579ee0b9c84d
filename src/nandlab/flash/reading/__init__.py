# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading a file costs, from where its bytes lie on flash."""
