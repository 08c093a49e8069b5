#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every file bears its licence, shell scripts please shellcheck, files are short.
# timeout: 900
. "$(dirname "$0")/../lib.sh"

requires git -C "$SRC" rev-parse HEAD
cd "$SRC"
mapfile -t files < <(git ls-files -- . ':!results/reference' ':!LICENSE')
[ ${#files[@]} -gt 10 ] || fail "git ls-files lists only ${#files[@]} files"

status=0
scripts=()
for file in "${files[@]}"; do
	[ -f "$file" ] || continue
	if ! head -n 5 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-only'; then
		echo "$file: no SPDX line"
		status=1
	fi
	case $file in
	*.c | *.h | *.py)
		lines=$(wc -l <"$file")
		if ((lines > 600)); then
			echo "$file: $lines lines are too many for one file"
			status=1
		fi
		;;
	esac
	if head -n 1 "$file" | grep -qE '^#!/bin/(ba)?sh'; then
		scripts+=("$file")
	fi
done

requires shellcheck --version
checked=0
# Of CPU time, which is the same however busy the machine is.
(ulimit -c 0; ulimit -t 90; exec shellcheck -x -P SCRIPTDIR tests/lib.sh "${scripts[@]}") || checked=$?
[ $checked -lt 128 ] ||
	fail "shellcheck takes for ever, as it does over long quoted text: use a here document"
exit $((status | checked))
