# SPDX-License-Identifier: GPL-2.0-only
"""How a result looks: terminal, CSV, pictures, page."""
