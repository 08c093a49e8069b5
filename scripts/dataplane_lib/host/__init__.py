# SPDX-License-Identifier: GPL-2.0-only
"""What this machine is: facts, CPUs, the distance between them, who used them."""
