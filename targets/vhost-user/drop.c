/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a front end is dropped: decided in any thread, said in its session's own */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/fd.h"
#include "targets/vhost-user/session.h"

/**
 * session_refuse - say more of why a message is refused than its errno does
 * @s: the session; called in its own thread
 * @err: why, a negative errno that drop_text() knows; a reason given before stays
 *
 * Return: @err, for which the front end is to be dropped.
 */
int session_refuse(struct session *s, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&s->dropped_for, &none, err);
	return err;
}

/**
 * session_give_up - have the session's own thread drop the front end
 * @s: the session
 * @err: why, a negative errno that drop_text() knows; a reason given before stays
 *
 * From any thread, and from a signal handler.
 */
void session_give_up(struct session *s, int err)
{
	session_refuse(s, err);
	shutdown(s->client.sock, SHUT_RD);
}

static const char *drop_text(int err)
{
	switch (err) {
	case -ERANGE:
		return "a descriptor or ring index is out of range";
	case -ELOOP:
		return "a descriptor chain loops";
	case -EFAULT:
		return "an address lies outside the shared memory";
	case -E2BIG:
		return "a request has too many segments";
	case -EPROTO:
		return "a request has no room for its status";
	case -EBADF:
		return "its call descriptor cannot be written";
	case -EDEADLK:
		return "its call descriptor was made to block, and full";
	case -EBADFD:
		return "it sends a kick, call or error descriptor that is no eventfd";
	case -EOVERFLOW:
		return "more requests are in flight than the ring holds";
	case -ESTALE:
		return "its shared memory has shrunk, or the file system under it is full";
	case -EDQUOT:
		return "it shares more memory than --max-client-memory allows";
	case -EREMOTEIO:
		return "its memory lies on a file system that others answer for (FUSE, overlay, network): share a memfd, tmpfs, hugetlbfs or a local file";
	default:
		return "a descriptor is malformed";
	}
}

/* Of a front end that could not even be heard out */
static void say_unheard(const struct session *s, int err)
{
	const char *why = err == -EUSERS ? "it has said nothing, and gives way to newer clients" :
			  err == -E2BIG ? "it sends more descriptors than any message has" :
			  err == -EMFILE ? "no room for a descriptor that it sends: Too many open files (see ulimit -n)" :
			  err != -ETIMEDOUT ? NULL : s->spoke ? "it stops in the middle of a message" :
			  "it says nothing";

	if (why)
		client_dropped(&s->client, "%s", why);
	else
		client_dropped(&s->client, "bad message: %s", strerror(-err));
}

/**
 * session_say_goodbye - say in a line why a front end is dropped
 * @s: the session; called in its own thread
 * @msg: the message that is to blame, NULL when none could be received
 * @err: what became of it
 *
 * Nothing is said when the front end just left, or the target ends.
 */
void session_say_goodbye(struct session *s, const struct vu_msg *msg, int err)
{
	int why = atomic_load(&s->dropped_for);

	if (err == -ESHUTDOWN)
		return;
	if (why)
		client_dropped(&s->client, "%s", drop_text(why));
	else if (err == -ECONNRESET || (msg && err == -EPIPE))
		return; /* it hung up, perhaps before it was answered */
	else if (msg)
		client_dropped(&s->client, "%s (%u): %s", vu_request_name(msg->h.request),
			       msg->h.request, strerror(-err));
	else
		say_unheard(s, err);
}

/**
 * session_hangup - whether a session is about to end
 * @s: the session
 *
 * Return: 0 if it is not; POLLHUP with others when the front end is gone, without when it will
 * be heard no more.
 */
short session_hangup(const struct session *s)
{
	return fd_events(s->client.sock, POLLRDHUP);
}
