# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m nandlab``."""

from nandlab.cli.main import main

main()
