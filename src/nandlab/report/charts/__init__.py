# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts, maps and their keys, as SVG, PNG and HTML."""
