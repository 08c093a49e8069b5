/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file in memory, named after the device, for the target that comes after one that was killed:
 * which disk the device is, whether a driver uses it, and what was in flight. The device itself
 * is in the kernel meanwhile. Both are gone after a reboot.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "targets/vduse/record.h"
#include "wire/inflight.h"

#define MAGIC	UINT64_C(0x31657375647664fd)

/* How the record begins; a queue's part follows at every @room bytes */
struct vduse_record_head {
	uint64_t magic;
	struct vduse_identity id;
	_Atomic uint8_t status;
} __attribute__((aligned(CACHE_LINE)));

static void path_of(char *path, size_t len, const char *name)
{
	snprintf(path, len, "/dev/shm/fio-dataplane-vduse-%s", name);
}

/* The features, and with them the format of the rings, are not known before there is a driver. */
static size_t room_of(const struct vduse_identity *id)
{
	size_t split = vq_inflight_bytes(false, id->queue_size);
	size_t packed = vq_inflight_bytes(true, id->queue_size);

	return split > packed ? split : packed;
}

static size_t len_of(const struct vduse_identity *id)
{
	return sizeof(struct vduse_record_head) + id->num_queues * room_of(id);
}

/**
 * vduse_identity_of - say which disk a device is
 * @id: filled in
 * @b: the disk, open
 * @num_queues: the device's queues
 * @queue_size: most entries of one
 */
void vduse_identity_of(struct vduse_identity *id, const struct backend *b, unsigned int num_queues,
		       unsigned int queue_size)
{
	struct stat st;

	*id = (struct vduse_identity) {
		.num_queues = num_queues,
		.queue_size = queue_size,
		.block_size = (uint32_t)b->config.block_size,
		.read_only = b->config.read_only,
		.size = b->size,
	};
	id->keeps = b->ops != &ram_backend;
	if (!b->config.path || fstat(b->fd, &st))
		return;
	id->place = b->is_block ? 0 : st.st_dev;
	id->number = b->is_block ? st.st_rdev : st.st_ino;
}

static int map(struct vduse_record *r, int fd, size_t len)
{
	void *shared = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (shared == MAP_FAILED)
		return -errno;
	*r = (struct vduse_record) { .shared = shared, .len = len };
	return 0;
}

/**
 * vduse_record_create - begin the record of a device that was just made
 * @r: filled in
 * @name: the device
 * @id: which disk it is
 *
 * What an earlier device of that name has left is replaced.
 *
 * Return: 0 or a negative errno, -EEXIST or -EPERM where another user has taken the file's name.
 */
int vduse_record_create(struct vduse_record *r, const char *name, const struct vduse_identity *id)
{
	char path[128];
	int fd, ret;

	path_of(path, sizeof(path), name);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* Take the memory now: a page that is missing later would end the target. */
	ret = -posix_fallocate(fd, 0, (off_t)len_of(id));
	if (!ret)
		ret = map(r, fd, len_of(id));
	close(fd);
	if (ret) {
		unlink(path);
		return ret;
	}
	r->room = room_of(id);
	r->shared->id = *id;
	/* A target that is killed in between leaves no magic, hence nothing to be taken over. */
	atomic_signal_fence(memory_order_release);
	r->shared->magic = MAGIC;
	return 0;
}

static int check(struct vduse_record *r)
{
	const struct vduse_identity *id = &r->shared->id;

	if (r->shared->magic != MAGIC || !id->num_queues || id->num_queues > UINT16_MAX ||
	    !id->queue_size || id->queue_size > PACKED_NUM_MAX || r->len != len_of(id))
		return -EUCLEAN;
	r->room = room_of(id);
	return 0;
}

/**
 * vduse_record_open - find the record of a device that a killed target has left
 * @r: filled in
 * @name: the device
 *
 * Return: 0, -ENOENT without one, -EPERM for one of another user, -EUCLEAN for one that no target
 * has written, or another negative errno.
 */
int vduse_record_open(struct vduse_record *r, const char *name)
{
	char path[128];
	struct stat st;
	int fd, ret;

	path_of(path, sizeof(path), name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == EACCES || errno == ELOOP ? -EPERM : -errno;
	ret = fstat(fd, &st) ? -errno : 0;
	/* Anybody can make a file there before us. */
	if (!ret && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077))
		ret = -EPERM;
	if (!ret && st.st_size < (off_t)sizeof(struct vduse_record_head))
		ret = -EUCLEAN;
	if (!ret)
		ret = map(r, fd, (size_t)st.st_size);
	close(fd);
	if (ret)
		return ret;
	ret = check(r);
	if (ret)
		vduse_record_close(r);
	return ret;
}

/**
 * vduse_record_identity - which disk a record is of
 * @r: the record
 *
 * Return: what vduse_record_create() was given.
 */
const struct vduse_identity *vduse_record_identity(const struct vduse_record *r)
{
	return &r->shared->id;
}

/**
 * vduse_record_status - how far the driver had come
 * @r: the record
 *
 * Return: the device status (VIRTIO 1.2, 2.1) last noted.
 */
uint8_t vduse_record_status(const struct vduse_record *r)
{
	/* relaxed: the target that wrote it is gone */
	return atomic_load_explicit(&r->shared->status, memory_order_relaxed);
}

/**
 * vduse_record_set_status - note how far the driver has come
 * @r: the record
 * @status: the device status
 */
void vduse_record_set_status(struct vduse_record *r, uint8_t status)
{
	/* release: a queue's part is ready before the status that has it looked at */
	atomic_store_explicit(&r->shared->status, status, memory_order_release);
}

/**
 * vduse_record_queue - a queue's part of the record
 * @r: the record
 * @index: the queue
 *
 * Return: for vq_inflight_open(), with as many entries as the largest queue may have.
 */
void *vduse_record_queue(const struct vduse_record *r, unsigned int index)
{
	return (char *)(r->shared + 1) + index * r->room;
}

/**
 * vduse_record_close - let the record go, which stays
 * @r: the record; no harm in one that is not open
 */
void vduse_record_close(struct vduse_record *r)
{
	if (r->shared)
		munmap(r->shared, r->len);
	r->shared = NULL;
}

/**
 * vduse_record_remove - remove the record of a device that is gone
 * @name: the device
 */
void vduse_record_remove(const char *name)
{
	char path[128];

	path_of(path, sizeof(path), name);
	unlink(path);
}
