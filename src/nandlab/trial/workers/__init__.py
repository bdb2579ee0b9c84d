# SPDX-License-Identifier: GPL-2.0-or-later
"""One run over many processes and machines."""
