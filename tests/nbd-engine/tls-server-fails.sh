#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A TLS server that stalls anywhere is given up after stuck_timeout, or at SIGTERM, and one
# that leaves is said to have left.
# timeout: 240
. "$(dirname "$0")/servers.sh"

requires nbdkit --version
nbdkit --dump-config | grep -q '^tls=yes' || skip "this nbdkit has no TLS"
echo "fio:$(printf '%064d' 7)" >psk

# nbds NAME: the URI of that socket of the proxy's
nbds()
{
	echo "nbds+unix://fio@/?socket=$_work/$1&tls-psk-file=$PWD/psk"
}

# The greeting, some of the TLS handshake, NBD's options, and replies to requests.
places=(10 40 100 200 300 400 600 1000 1500 3000)
for at in "${places[@]}"; do
	printf "%s$at $at %s\n" stall stall close close dribble dribble
done >proxy.in
/usr/bin/python3 "$SRC/tests/nbd-engine/tls_proxy.py" "$_work" \
	nbdkit -s --tls=require --tls-psk="$PWD/psk" memory size=16M <proxy.in >>server.log 2>&1 &
cleanup_fn kill -KILL $!
wait_for 10 test -S dribble3000 || fail "the proxy does not start"
uri=
for serialize in 0 1; do
	for then in stall close dribble; do
		jobs=()
		for at in "${places[@]}"; do
			jobs+=(--name="$then$at" --uri="$(nbds "$then$at")")
		done
		errno=110
		[ $then != close ] || errno=104
		fio_fails '' --create_serialize=$serialize --stuck_timeout=1 --rw=randread --bs=4k --iodepth=4 \
			--size=1m --time_based --runtime=300 "${jobs[@]}"
		# What fails in setup() is in no results, but in fio's own lines, and ours are before.
		for at in "${places[@]}"; do
			case $then in
			close) text='cannot connect|has closed the connection' ;;
			*) text='for 1 s \(stuck_timeout\)' ;;
			esac
			grep -qE "^$then$at: .*($text)" fio.err || { said; fail "$then$at does not say why"; }
		done
		! grep -q 'breaks the protocol' fio.err || { said; fail "a server that left is said to be wrong"; }
		holds fio.json "{job['error'] for job in jobs} <= {0, $errno}"
	done
done

for serialize in 0 1; do
	uri=$(nbds stall300)
	start_fio --create_serialize=$serialize --stuck_timeout=300 --name=job --rw=read --bs=4k --size=1m
	sleep 1
	kill -TERM "$fio_pid"
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "success without a server"
done
