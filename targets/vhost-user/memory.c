/* SPDX-License-Identifier: GPL-2.0-only */
/* What a front end may share: how much, and memory of which kind */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include "targets/vhost-user/lost-memory.h"
#include "targets/vhost-user/session.h"

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

static bool pages_may_be_slow(int fd)
{
	struct statfs fs;

	/* memfd, tmpfs and hugetlbfs, which nearly all front ends share, need no statfs(). */
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

/**
 * session_map - map a region of a front end's memory
 * @s: the session, paused: a file system may be asked, and take its time
 * @r: filled in on success
 * @what: the region, by the front end's words
 * @fd: the memory, the caller's to close
 *
 * Return: 0 or a negative errno for which the front end is to be dropped.
 */
int session_map(struct session *s, struct guest_region *r, const struct vu_region *what, int fd)
{
	uint64_t end;
	int ret;

	if (pages_may_be_slow(fd))
		return session_refuse(s, -EREMOTEIO);
	/* Check before mapping, which would use up addresses; a range that wraps is refused below. */
	if (!__builtin_add_overflow(what->offset, what->size, &end) &&
	    end > s->server->max_memory - s->mapped)
		return session_refuse(s, -EDQUOT);
	ret = guest_region_map(r, what->guest, what->user, what->size, what->offset, fd);
	if (ret)
		return ret;
	s->mapped += r->map_len;
	if (s->mapped > s->server->max_memory)
		ret = session_refuse(s, -EDQUOT);
	if (!ret)
		ret = lost_memory_watch(s, r);
	if (ret)
		session_unmap(s, r);
	return ret;
}

/**
 * session_unmap - give a region of a front end's memory back
 * @s: the session
 * @r: the region; no running queue uses it
 */
void session_unmap(struct session *s, struct guest_region *r)
{
	lost_memory_forget(r);
	s->mapped -= r->map_len;
	guest_region_unmap(r);
}
