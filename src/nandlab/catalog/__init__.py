# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns that a study may name: boards, chips, file systems, workloads, papers."""
