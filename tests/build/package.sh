#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: make takes all CPUs
# timeout: 1800
# The Debian package, built from the tarball, works in a bare root for an ordinary user in an
# empty folder, and leaves nothing when it is removed.
. "$(dirname "$0")/../lib.sh"

[ "${CHECK_FULL-}" = 1 ] || skip "only make check-full tries this"
requires [ "$(id -u)" = 0 ]
requires debootstrap --version
requires dh --version
requires unshare --mount true
requires git -C "$SRC" rev-parse HEAD
unset MAKEFLAGS MAKELEVEL MFLAGS

# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt's variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Origin: Debian" "Codename: $suite" | sort -u | head -n 1)
[ -n "$mirror" ] || skip "apt has no archive of $suite here"

DEB_BUILD_OPTIONS=noautodbgsym make -C "$SRC" deb >build.log 2>&1 || { tail -n 40 build.log; fail "make deb"; }
package=$(echo "$SRC"/build/deb/fio-dataplane_*.deb)
dpkg-deb --contents "$package" | awk '{print $6}' >contents
! grep -vE '^\./$|^\./usr/$|^\./usr/(bin|lib|share)/' contents || fail "files in other places"

debootstrap --variant=minbase "$suite" root "$mirror" >debootstrap.log 2>&1 ||
	{ tail debootstrap.log; fail "debootstrap $suite"; }
cp -L /etc/resolv.conf root/etc/
cp "$package" root/package.deb

# in_root COMMAND: in a mount namespace of its own, so that removing the root can never
# remove what is mounted there
in_root()
{
	# shellcheck disable=SC2016 # for the inner shell
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
		unshare --mount sh -ec '
		mount --rbind /proc root/proc; mount --rbind /sys root/sys; mount --rbind /dev root/dev
		exec chroot root sh -ec "$1"' sh "$1" </dev/null
}

# files: all of the root that no package manager keeps for itself
files()
{
	find root -xdev \( -path root/var/lib/dpkg -o -path root/var/lib/apt -o -path root/var/cache -o -path root/var/log \
		-o -path root/home -o -path root/tmp \) -prune -o ! -type d -print | sort
}

# shellcheck disable=SC2016 # for the root's shell
in_root 'apt-get update -q; dpkg -I package.deb; useradd -m user
	apt-get install -qy --no-install-recommends $(dpkg-deb -f package.deb Depends | tr , "\n" | sed "s/(.*//; s/|.*//")' >apt.log 2>&1 ||
	{ tail apt.log; fail "its dependencies"; }
files >before
in_root 'apt-get install -qy --no-install-recommends ./package.deb' >apt.log 2>&1 || { tail apt.log; fail "apt-get install"; }
in_root 'su user -c "mkdir ~/empty && cd ~/empty && dataplane --version && dataplane list && dataplane selfcheck &&
	dataplane run poll-max-ns --short --repeats 1 && ls results/*/report.html"' || fail "as an ordinary user"
[ -s root/usr/share/man/man1/dataplane.1.gz ] || [ -s root/usr/share/man/man1/dataplane-ab.1.gz ] ||
	echo "note: this root's dpkg leaves manual pages out"
in_root 'dpkg --purge fio-dataplane' >apt.log 2>&1 || { tail apt.log; fail "dpkg --purge"; }
files | diff before - || fail "it left, or took, something"
