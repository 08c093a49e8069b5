# SPDX-License-Identifier: GPL-2.0-only
"""Runs: their order, the processes of each, guests and other machines as clients."""
