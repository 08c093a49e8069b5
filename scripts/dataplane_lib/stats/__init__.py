# SPDX-License-Identifier: GPL-2.0-only
"""Samples compared: no file is read here and nothing is printed."""
