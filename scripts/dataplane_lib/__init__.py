# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/dataplane is made of: one concern a file."""
