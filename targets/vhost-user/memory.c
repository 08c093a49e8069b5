/* SPDX-License-Identifier: GPL-2.0-only */
/* What a front end may share: how much, and memory of which kind */

#include <errno.h>
#include "targets/device/slow-pages.h"
#include "targets/vhost-user/session.h"

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
		ret = lost_memory_watch(&s->memory_owner, r);
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
