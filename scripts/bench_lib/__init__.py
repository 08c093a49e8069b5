# SPDX-License-Identifier: GPL-2.0-only
"""What an I/O takes on each path of this project and of its peers."""
