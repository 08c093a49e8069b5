# SPDX-License-Identifier: GPL-2.0-only
"""The command line: a module a command, and the options they share."""
