/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a front end is dropped: decided in any thread, said in its session's own */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/fd.h"
#include "targets/device/fault.h"
#include "targets/vhost-user/session.h"

/**
 * session_refuse - record why a message is refused, where its errno does not say enough
 * @s: the session; called in its own thread
 * @err: why, a negative errno that queue_fault() knows; an earlier reason stays
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
 * @err: why, a negative errno that queue_fault() knows; an earlier reason stays
 *
 * From any thread, and from a signal handler.
 */
void session_give_up(struct session *s, int err)
{
	session_refuse(s, err);
	shutdown(s->client.sock, SHUT_RD);
}

/* The line for a front end of which no message could be received */
static void say_unheard(const struct session *s, int err)
{
	const char *why = err == -EUSERS ? "evicted for a new client: no message received" :
			  err == -E2BIG ? "message with too many descriptors" :
			  err == -EMFILE ? "cannot receive a descriptor: Too many open files (see ulimit -n)" :
			  err != -ETIMEDOUT ? NULL : s->spoke ? "timed out in the middle of a message" :
			  "no message received";

	if (why)
		client_dropped(&s->client, "%s", why);
	else
		client_dropped(&s->client, "bad message: %s", strerror(-err));
}

/**
 * session_say_goodbye - write the line that says why a front end is dropped
 * @s: the session; called in its own thread
 * @msg: the message that is to blame, NULL when none could be received
 * @err: the negative errno of receiving or handling it
 *
 * Writes nothing when the front end just left, or the target ends.
 */
void session_say_goodbye(struct session *s, const struct vu_msg *msg, int err)
{
	int why = atomic_load(&s->dropped_for);

	if (err == -ESHUTDOWN)
		return;
	if (why)
		client_dropped(&s->client, "%s", queue_fault(why));
	else if (err == -ECONNRESET || (msg && err == -EPIPE))
		return; /* it hung up, perhaps before it was answered */
	else if (msg)
		client_dropped(&s->client, "%s (%u): %s", vu_request_name(msg->h.request),
			       msg->h.request, strerror(-err));
	else
		say_unheard(s, err);
}

/**
 * session_hangup - whether the front end has closed its end, or the session is about to end
 * @s: the session
 *
 * Return: 0 if not; with POLLHUP when the front end is gone, without when only no more messages
 * will be read.
 */
short session_hangup(const struct session *s)
{
	return fd_events(s->client.sock, POLLRDHUP);
}
