# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial is measured by: figures by name, ensembles and their spread, wear and energy."""
