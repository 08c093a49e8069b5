# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of the NBD engine share, on top of fio.sh: servers, other people's and ours,
# and some that misbehave. Such a test begins with
#
#	. "$(dirname "$0")/servers.sh"
#
# Each serve_* function starts a server on a socket of its own, ends the one before, and
# sets $uri and $server_pid. It skips the test where the program is missing.

# shellcheck disable=SC2154 # _work is lib.sh's
ENGINE=nbd
. "$(dirname "${BASH_SOURCE[0]}")/../fio.sh"

# engine_words ARG...: in place of fio.sh's: the engine on $uri
engine_words()
{
	words=(--ioengine="$engine" ${uri:+--uri="$uri"} "$@")
}

_serve()
{
	stop_server
	server_socket=$_work/nbd.sock
	rm -f "$server_socket"
	uri="nbd+unix:///${export_name-}?socket=$server_socket"
	[ -e server.in ] || : >server.in
	"$@" <server.in >>server.log 2>&1 &
	server_pid=$!
	cleanup_fn stop_server
	wait_for 10 _listens || { cat server.log >&2; fail "does not start: $*"; }
}

_listens()
{
	grep -q " 00010000 .* $server_socket\$" /proc/net/unix
}

# stop_server: end the server; nothing if there is none. Not gently: qemu-nbd would wait
# for the disk.
stop_server()
{
	local pid=${server_pid-}
	server_pid=
	[ -n "$pid" ] || return 0
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# serve_target ARG...: this project's
serve_target()
{
	requires_built targets/nbd-target
	_serve "$FIO_DATAPLANE/targets/nbd-target" --socket "$_work/nbd.sock" "$@"
}

# serve_nbdkit ARG...: nbdkit with that plugin and its options
serve_nbdkit()
{
	requires nbdkit --version
	_serve nbdkit -f -U "$_work/nbd.sock" "$@"
}

# serve_qemu_nbd ARG...: qemu-nbd on the file disk.raw of 64 MiB, made if there is none
serve_qemu_nbd()
{
	requires qemu-nbd --version
	[ -e disk.raw ] || truncate -s 64M disk.raw
	_serve qemu-nbd -t -k "$_work/nbd.sock" -f raw --cache=writeback "$@" disk.raw
}

# serve_nbd_server LINE...: the reference server on the file disk.raw, with these lines in
# the export's section of its configuration
serve_nbd_server()
{
	PATH=$PATH:/usr/sbin requires command -v nbd-server
	[ -e disk.raw ] || truncate -s 64M disk.raw
	{
		printf '[generic]\nunixsock = %s\n[disk]\nexportname = %s\n' "$_work/nbd.sock" "$PWD/disk.raw"
		printf '%s\n' "$@"
	} >nbd-server.conf
	# It goes into the background in any case.
	export_name=disk _serve env PATH="$PATH:/usr/sbin" nbd-server -C nbd-server.conf -p "$PWD/nbd-server.pid"
	server_pid=$(cat nbd-server.pid)
}

# serve_badly WORD...: a server that does what bad_server.py says of these words
serve_badly()
{
	echo nbd.sock "$@" >server.in
	_serve /usr/bin/python3 "$SRC/tests/nbd-engine/bad_server.py" "$_work"
	: >server.in
}

# jobs_badly ARG...: a job for each line "NAME WORD...|TEXT|OPTION..." of stdin, all at the
# same time, with the options ARG too; NAME has a server of its own, which does what
# bad_server.py says of WORD. Each job must say TEXT.
jobs_badly()
{
	local line name words text options args=()
	rm -f server.in texts
	while IFS='|' read -r line text options; do
		read -r name words <<<"$line"
		rm -f "$_work/$name"
		echo "$name $words" >>server.in
		echo "$name|$text" >>texts
		# shellcheck disable=SC2206 # words
		args+=(--name="$name" --uri="nbd+unix:///?socket=$_work/$name" "$@" $options)
	done
	echo nbd.sock >>server.in
	_serve /usr/bin/python3 "$SRC/tests/nbd-engine/bad_server.py" "$_work"
	: >server.in
	uri=
	fio_fails '' "${args[@]}"
	while IFS='|' read -r name text; do
		grep -F "$name: " fio.err | grep -qF -- "$text" || { said; fail "$name does not say '$text'"; }
	done <texts
}
