# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab``, and ``python -m nandlab``."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Runs the command line. Until it is there, Ctrl-C ends the process: nothing is half done."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from nandlab.base.ulimits import exit_below_memory_limits

    exit_below_memory_limits()
    # numpy is used for a few sums, and each thread of OpenBLAS maps some 40 MiB
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from nandlab.cli.main import main as command

    command()


if __name__ == "__main__":  # processes of a campaign import it again
    main()
