# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: one verb per stage, which works on the files of the stage before."""
