# SPDX-License-Identifier: GPL-2.0-only
"""Manual pages and shell completion, made of the programs' own tables."""
