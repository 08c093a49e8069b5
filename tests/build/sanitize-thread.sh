#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: make takes all CPUs
# timeout: 300
# Both targets and the wire code make the sanitizer thread say nothing.
. "$(dirname "$0")/sanitizer.sh" thread
