# SPDX-License-Identifier: GPL-2.0-only
"""What ends scripts/guest with a sentence on one line."""


class Failed(Exception):
    """Something went wrong that should not have."""


class Unavailable(Exception):
    """Something is missing here that this host could have: nothing was tried."""
