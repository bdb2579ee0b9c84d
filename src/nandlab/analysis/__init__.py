# SPDX-License-Identifier: GPL-2.0-or-later
"""From trials to tables and words: pure functions, no board, no files written.

``groups`` puts the trials of one configuration together, ``figures`` derives the figures of one
trial, ``spread`` says how far an ensemble spreads, ``answers`` says in words what the spreads
allow to be said, ``compare`` finds what differs between two runs, ``units`` writes numbers.
"""
