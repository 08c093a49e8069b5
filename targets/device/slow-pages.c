/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include "targets/device/slow-pages.h"

/* Not in all versions of linux/magic.h */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC	0x65735546
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC	0xFF534D42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC	0xFE534D42
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC	0x00c36400
#endif

/*
 * File systems whose missing pages come from another process (FUSE), another machine, or a file
 * system below that may be either. An iothread that touches such a page waits for it, and all
 * its clients with it. Users without privileges can mount FUSE and overlays.
 */
static const unsigned int slow_magic[] = {
	FUSE_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC,
	SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC, V9FS_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC, CODA_SUPER_MAGIC,
};

/**
 * pages_may_be_slow - what kind of file a driver shares as memory
 * @fd: the file; its file system may be asked, and take its time
 *
 * Return: whether an access to its pages may wait for somebody.
 */
bool pages_may_be_slow(int fd)
{
	struct statfs fs;

	/* memfd, tmpfs and hugetlbfs, which nearly all drivers share, need no statfs(). */
	if (fcntl(fd, F_GET_SEALS) >= 0)
		return false;
	if (fstatfs(fd, &fs))
		return false;
	for (unsigned int i = 0; i < sizeof(slow_magic) / sizeof(slow_magic[0]); i++) {
		if ((unsigned int)fs.f_type == slow_magic[i])
			return true;
	}
	return false;
}
