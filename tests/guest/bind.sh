#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# 'dataplane bind' and 'unbind' on real devices: there and back, and never a disk that is in use.
# timeout: 240
. "$(dirname "$0")/guest.sh"
requires_built engines/virtio-poll.so

# The guest has no Python: it gets the interpreter, and the modules that these commands load.
cat >dataplane <<'END'
import argparse, sys
sys.path.insert(0, "/usr/lib/scripts")
from dataplane_lib.cli import bind, status

def run(argv):
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    def command(name, text, run):
        commands.add_parser(name).set_defaults(run=run)
        return commands.choices[name]
    bind.add(command)
    args = parser.parse_args(argv)
    return args.run(args)

sys.exit(status.guarded(run, sys.argv[1:]))
END
python=$(readlink -f /usr/bin/python3)
files=(--file "$python:/usr/bin/python3" --file dataplane:/usr/lib/dataplane)
while read -r path; do
	files+=(--file "$path:${path/#$SRC\/scripts//usr/lib/scripts}")
done < <(PYTHONPATH=$SRC/scripts "$python" -S -c '
import argparse, encodings.ascii, encodings.utf_8, sys
from dataplane_lib.cli import bind, status
print(*sorted({m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)}), sep="\n")')

truncate -s 64M disk
cp disk other
# shellcheck disable=SC2016 # expanded in the guest
guest '
mkdir -p /mnt $(echo /usr/lib/python3*)/lib-dynload
dataplane()
{
	python3 -S -E /usr/lib/dataplane "$@"
}
# fails TEXT COMMAND ARG...: it must fail, with one line that says so
fails()
{
	local text=$1
	shift
	! "$@" >heard 2>&1 || { cat heard; return 1; }
	is 1 sh -c "wc -l <heard" || { cat heard; return 1; }
	grep -e "$text" heard || { cat heard; return 1; }
}
one=0000:00:01.0 two=0000:00:02.0
driver()
{
	basename $(readlink /sys/bus/pci/devices/$1/driver)
}
job="fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$one --rw=randwrite
	--verify=crc32c --size=1m"
mke2fs /dev/vda >/dev/null 2>&1
mount -t ext4 /dev/vda /mnt 2>/dev/null || mount -t ext2 /dev/vda /mnt
check "a mounted disk is refused" fails "vda is mounted on /mnt" dataplane bind $one
umount /mnt
mkswap /dev/vda >/dev/null
swapon /dev/vda
check "swap is refused" fails "vda is swap space" dataplane bind $one
swapoff /dev/vda
sleep 100 </dev/vda &
check "an open disk is refused" fails "vda is open in sleep ($!)" dataplane bind $one
kill $!
wait $! || true
printf "n\np\n1\n\n+16M\nw\n" | fdisk /dev/vda >/dev/null 2>&1
mke2fs /dev/vda1 >/dev/null 2>&1
mount -t ext4 /dev/vda1 /mnt 2>/dev/null || mount -t ext2 /dev/vda1 /mnt
check "a partition in use is refused" fails "vda1 is mounted on /mnt" dataplane bind $one
umount /mnt
check "another device is refused" fails "no virtio-blk device" dataplane bind 0000:00:1f.2
check "the disk is still the kernel'"'"'s" is virtio-pci driver $one
check "bind, of a disk with a partition" dataplane bind 00:01.0
check "vfio-pci has it" is vfio-pci driver $one
check "the disk is gone" test ! -e /sys/block/vda
check "the other one stays" is virtio-pci driver $two
check "twice is once" dataplane bind $one
check "a job drives it" $job
$job --time_based --runtime=100 >/dev/null 2>&1 &
until grep -q 1 /sys/bus/pci/devices/$one/enable; do sleep 0.1; done
check "no unbind under a job" fails "fio ([0-9]*) is using it" dataplane unbind $one
kill $!
wait $! || true
check "unbind" dataplane unbind $one
check "the kernel has it" is virtio-pci driver $one
check "and finds what was written" io $(ls -d /sys/bus/pci/devices/$one/virtio*/block/* | sed s,.*/,/dev/,) \
	--rw=randwrite --verify=crc32c --size=1m --verify_only=1
check "nothing is left to find" is "(null)" cat /sys/bus/pci/devices/$one/driver_override
check "unbind of what the kernel has" dataplane unbind $one
' --timeout 200 --iommu --disk disk --disk other "${files[@]}" --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so"
