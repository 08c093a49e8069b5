/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_TRANSPORT_H
#define ENGINES_VIRTIO_TRANSPORT_H

#include "base/json.h"
#include "engines/virtio/options.h"

struct shared_device;

/**
 * struct virtio_transport - a way to reach a device
 * @name: for messages
 * @key: what tells devices of this kind apart, from a job's options; NULL when the
 *	option is missing
 * @key_help: what to give then
 * @reconnects: knows reconnect=1
 * @open: find the device; fills in features, limits, max_queues and peer_fd
 * @start: the rings are in place: let the device look at them
 * @attach: a job takes a queue; in the job, process or thread; what happens goes into @trace,
 *	if there is one; may be NULL
 * @detach: it gives the queue back; @dead when it has not seen all completions
 * @gone: 0, or why the device no longer serves a queue, a negative errno, and @why is set to the
 *	same in words where the errno's are not enough; may be NULL where the connection tells
 * @stats: what the device's side counted for a queue, as members of an object; may be NULL
 * @close: leave the device, whatever has been done of the above
 *
 * All return 0 or a negative errno, reported.
 */
struct virtio_transport {
	const char *name;
	const char *(*key)(const struct virtio_options *o);
	const char *key_help;
	bool reconnects;
	int (*open)(struct shared_device *dev, struct thread_data *td);
	int (*start)(struct shared_device *dev, struct thread_data *td);
	int (*attach)(struct shared_device *dev, struct thread_data *td, unsigned int index,
		      struct trace *trace);
	void (*detach)(struct shared_device *dev, unsigned int index, bool dead);
	int (*gone)(struct shared_device *dev, unsigned int index, const char **why);
	void (*stats)(struct shared_device *dev, unsigned int index, struct json *w);
	void (*close)(struct shared_device *dev);
};

extern const struct virtio_transport via_vhost_user;
extern const struct virtio_transport via_embedded;
extern const struct virtio_transport via_vfio;
extern const struct virtio_transport via_vdpa;

/* Those that the engine this code is linked into offers, by enum virtio_transport_kind. */
extern const struct virtio_transport *const virtio_transports[];

static inline const struct virtio_transport *virtio_transport(const struct virtio_options *o)
{
	return virtio_transports[o->transport];
}

#endif
