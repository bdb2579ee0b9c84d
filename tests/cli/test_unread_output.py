# SPDX-License-Identifier: GPL-2.0-or-later
"""A command whose output nobody reads any more ends with the status of that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [["chip", "list"], ["--help"], ["plan"]], ids=" ".join)
def test_output_that_nobody_reads_ends_the_command(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "nandlab", *words]
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
