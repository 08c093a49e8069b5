# SPDX-License-Identifier: GPL-2.0-only
"""Traces: events, the requests they belong to, and the stages of those."""
