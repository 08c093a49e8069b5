#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --enghelp explains every option of the NBD engine.
ENGINE=nbd exec "$(dirname "$0")/../engine/options-help.sh"
