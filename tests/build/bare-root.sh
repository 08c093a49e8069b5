#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: make takes all CPUs
# timeout: 1200
# From a clean clone on a bare root of this distribution, `make demo` installs
# what is missing and does it all; once that is so, make does nothing again, and
# needs no network. Only for check-full: it fetches some 300 MB of packages.
. "$(dirname "$0")/../lib.sh"

[ "${CHECK_FULL-}" = 1 ] || skip "only make check-full tries this"
requires [ "$(id -u)" = 0 ]
requires debootstrap --version
requires unshare --mount true
requires git -C "$SRC" rev-parse HEAD

# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt's variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Origin: Debian" "Codename: $suite" | sort -u | head -n 1)
[ -n "$mirror" ] || skip "apt has no archive of $suite here"

debootstrap --variant=minbase "$suite" root "$mirror" >debootstrap.log 2>&1 ||
	{ tail debootstrap.log; fail "debootstrap $suite"; }
cp -L /etc/resolv.conf root/etc/
git clone -q --no-local "$SRC" root/root/fio-dataplane

# in_root [UNSHARE-OPTION...] -- COMMAND: in a mount namespace of its own, so that
# removing the root can never remove what is mounted there
in_root()
{
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	# shellcheck disable=SC2016 # for the inner shell
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
		unshare --mount "${options[@]}" sh -ec '
		mount --rbind /proc root/proc; mount --rbind /sys root/sys; mount --rbind /dev root/dev
		exec chroot root sh -ec "cd /root/fio-dataplane; $1"' sh "$2" </dev/null
}

in_root -- 'apt-get update -q && apt-get install -qy --no-install-recommends make'
echo "== make demo"
time in_root -- 'make demo'
[ -x root/root/fio-dataplane/build/targets/vhost-user-blk-target ] || fail "nothing was built"
ls root/root/fio-dataplane/results/*/report.html

echo "== make, once more, without a network"
again=$(in_root --net -- 'make -s' 2>&1)
[ -z "$again" ] || fail "made again: $again"
