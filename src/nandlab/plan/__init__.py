# SPDX-License-Identifier: GPL-2.0-or-later
"""From a study file to the list of its trials."""
