# SPDX-License-Identifier: GPL-2.0-only
"""From figures to conclusions: verdicts, sentences, exit statuses."""
