# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of the NBD engine share, on top of fio.sh: other people's servers and one
# that misbehaves. Such a test begins with
#
#	. "$(dirname "$0")/servers.sh"
#
# Each serve_* function starts a server on a socket of its own, ends the one before, and
# sets $uri and $server_pid. It skips the test where the program is missing.

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
	"$@" </dev/null >>server.log 2>&1 &
	server_pid=$!
	cleanup_fn stop_server
	wait_for 10 _listens || { cat server.log >&2; fail "does not start: $*"; }
}

_listens()
{
	grep -q " 00010000 .* $server_socket\$" /proc/net/unix
}

# stop_server: end the server; nothing if there is none
stop_server()
{
	local pid=${server_pid-}
	server_pid=
	[ -z "$pid" ] || stop "$pid" || true
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
	requires test -x "$(PATH=$PATH:/usr/sbin command -v nbd-server)"
	[ -e disk.raw ] || truncate -s 64M disk.raw
	{
		printf '[generic]\nunixsock = %s\n[disk]\nexportname = %s\n' "$_work/nbd.sock" "$PWD/disk.raw"
		printf '%s\n' "$@"
	} >nbd-server.conf
	export_name=disk _serve _nbd_server
}

# It goes into the background in any case; here a process stands for it.
_nbd_server()
{
	PATH=$PATH:/usr/sbin nbd-server -C nbd-server.conf -p "$_work/nbd-server.pid" || exit
	trap 'kill "$(cat "$_work/nbd-server.pid")"; exit 0' TERM
	while [ -e "/proc/$(cat "$_work/nbd-server.pid")" ]; do
		sleep 0.05
	done
}

# serve_badly MISDEED...: a server that does what bad-server.py --help says
serve_badly()
{
	_serve /usr/bin/python3 "$SRC/tests/nbd-engine/bad_server.py" "$_work/nbd.sock" "$@"
}
