# SPDX-License-Identifier: GPL-2.0-only
"""What is to be run: study files, job files, arms, servers, and the figures that a run yields."""
