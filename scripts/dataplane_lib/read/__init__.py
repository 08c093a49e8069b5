# SPDX-License-Identifier: GPL-2.0-only
"""From files of a run to figures, a reader a format."""
