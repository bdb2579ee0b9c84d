# SPDX-License-Identifier: GPL-2.0-or-later
"""From trials to tables and words: pure functions, no board, no files written.

``groups`` puts the trials of one configuration together, ``figures`` derives the figures of one
trial, ``spread`` says how far an ensemble spreads, ``ranking`` puts an order into words as far as
the spreads carry it, ``answers`` and ``lifetime`` say what a run answers, ``compare`` finds what
differs between two runs.
"""
