# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m nandlab``."""

from nandlab.cli.main import main

if __name__ == "__main__":  # processes of a campaign import it again
    main()
