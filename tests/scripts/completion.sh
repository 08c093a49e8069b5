#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bash completes commands, options, values, studies, results and options of targets; the
# manual has a page a program, without a warning of its formatter.
. "$(dirname "$0")/../lib.sh"

requires_built engines/nbd.so
requires_built targets/nbd-target
requires /usr/bin/python3 -c 'import docutils'
"$SRC/scripts/manual" "$FIO_DATAPLANE" out
mkdir -p results/2026-01-02-mine
touch results/2026-01-02-mine/runs.jsonl.xz

# shellcheck source=/dev/null
. out/bash/dataplane
compopt() { :; }	# only inside of a real completion
COMP_LINE='' COMP_POINT=0

# offered WORD...: what there is for the last of them, a line each
offered()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_dataplane "$SRC/scripts/${1##*/}" || true	# no match
	printf '%s\n' "${COMPREPLY[@]}"
}

# offers WANTED WORD...
offers()
{
	local wanted=$1
	shift
	offered "$@" >found
	grep -qxF -e "$wanted" found || fail "$* offers no $wanted: $(cat found)"
}

offers sweep dataplane sw
offers --version dataplane --v
offers --pairs dataplane ab --pa
offers poll-max-ns dataplane run poll
offers nbd.fio dataplane sweep nb
offers 2026-01-02-mine dataplane report 2026
offers lat_p99.9_us dataplane ab --primary lat
offers poll-max-ns= dataplane sweep --vary poll-m
offers nbd-target dataplane sweep --program n
offers '--backend null --poll-grow' dataplane ab --target "'--backend null --poll-g"
offers per-source nbd-target --poll p
offers --zero-copy ublk-target --ze
offers per-source nbd-target --poll = p
offers file: vhost-user-blk-target --backend f
offers --max-client-memory vhost-user-blk-target --max
for disk in /sys/bus/pci/devices/*; do
	[[ $(cat "$disk/vendor" "$disk/device" 2>/dev/null) == 0x1af4$'\n'0x10@(01|42) ]] || continue
	offers "${disk##*/}" dataplane bind ''
	COMP_LINE="dataplane bind ${disk##*/}" COMP_POINT=$((${#COMP_LINE} - 2))
	offers "${disk##*:}" dataplane bind 0000 : 00 : 0
	COMP_LINE='' COMP_POINT=0
done
[ -z "$(offered dataplane run --nothing-like-it)" ] || fail "completes what is not there"
# Each command, from the command's own table.
"$SRC/scripts/dataplane" --help | sed -n 's/^  \([a-z]\{2,\}\)  .*/\1/p' | sort >commands
[ "$(wc -l <commands)" -gt 10 ] || fail "the help lists few commands: $(cat commands)"
offered dataplane '' | grep '^[a-z]' | sort | diff commands -
while read -r command; do
	[ -s "out/man/dataplane-$command.1" ] || fail "no page for $command"
done <commands

grep -q 'poll.*max.*ns' out/man/nbd-target.1 || fail "the target's page lacks its options"
grep -q 'structured_replies' out/man/fio-dataplane-engines.1 || fail "the engines' page lacks their options"
if type -P man >/dev/null; then
	for page in out/man/*.1; do
		said=$(MANWIDTH=80 man --warnings -l "$page" 2>&1 >text)
		[ -z "$said" ] || fail "$page: $said"
		[ -s text ] || fail "$page is empty"
	done
fi
if type -P zsh >/dev/null; then
	zsh -fc 'fpath=($PWD/out/zsh $fpath); autoload -Uz compinit && compinit -u -d dump && autoload +X _dataplane && functions _dataplane >loaded' ||
		fail "zsh does not load its completion"
	grep -q compadd loaded || grep -q _arguments loaded || fail "zsh: $(cat loaded)"
fi
