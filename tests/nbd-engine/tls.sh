#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Over TLS, where libnbd talks whatever datapath= says, and over TCP.
. "$(dirname "$0")/servers.sh"

requires nbdkit --version
nbdkit --dump-config | grep -q '^tls=yes' || skip "this nbdkit has no TLS"
echo "fio:$(printf '%064d' 7)" >psk
serve_nbdkit --tls=require --tls-psk=psk memory size=16M
uri="nbds+unix://fio@/?socket=$server_socket&tls-psk-file=$PWD/psk"
for mode in block poll; do
	fio_passes --wait_mode=$mode --dp_stats=tls --name=job --rw=randrw --bssplit=4k/70:64k/30 --size=4m \
		--iodepth=16 --verify=crc32c
	holds tls.job.1.json "d['datapath'] == 'libnbd'"
done
fio_fails 'cannot connect' --name=job --rw=read --bs=4k --uri="nbd+unix:///?socket=$server_socket"

# A port that was free just now, on loopback.
port=$(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
stop_server
nbdkit -f -i 127.0.0.1 -p "$port" memory size=16M </dev/null >>server.log 2>&1 &
server_pid=$!
uri=nbd://127.0.0.1:$port
wait_for 10 grep -q "$(printf ':%04X .* 0A ' "$port")" /proc/net/tcp || fail "nbdkit does not listen"
fio_passes --connections=4 --name=job --rw=randrw --bssplit=512/20:4k/60:1m/20 --size=8m --iodepth=16 \
	--verify=crc32c --dp_stats=tcp
holds tcp.job.1.json "d['datapath'] == 'direct'" "d['connections'] == 4"
