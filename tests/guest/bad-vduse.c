/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/vduse.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_ring.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * bad-vduse NAME [KEY=NUMBER | WORD]...: a VDUSE device that is wrong in the way that is asked for, until
 * SIGTERM. Keys are fields of its configuration and what the kernel is told; a word is what it does.
 */

#define SIZE	64

static struct {
	unsigned int id, vqs, vq_size;
	uint64_t features;
	struct virtio_blk_config config;
	const char *behaviour;
} device = {
	.id = VIRTIO_ID_BLOCK, .vqs = 1, .vq_size = SIZE,
	.features = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_F_ACCESS_PLATFORM | 1ull << VIRTIO_BLK_F_MQ |
		    1ull << VIRTIO_BLK_F_BLK_SIZE | 1ull << VIRTIO_BLK_F_SIZE_MAX,
	.config = { .capacity = 8192, .blk_size = 512, .num_queues = 1 },
	.behaviour = "well",
};

static volatile sig_atomic_t over;

static void end(int sig)
{
	(void)sig;
	over = 1;
}

static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	perror(what);
	exit(1);
}

static bool does(const char *what)
{
	return !strcmp(device.behaviour, what);
}

static void set(const char *text)
{
	const char *value = strchr(text, '=');
	uint64_t n = value ? strtoull(value + 1, NULL, 0) : 0;
	size_t len = value ? (size_t)(value - text) : 0;

	if (!value)
		device.behaviour = text;
	else if (!strncmp(text, "id", len))
		device.id = n;
	else if (!strncmp(text, "vq_size", len))
		device.vq_size = n;
	else if (!strncmp(text, "without", len))
		device.features &= ~(1ull << n);
	else if (!strncmp(text, "capacity", len))
		device.config.capacity = n;
	else if (!strncmp(text, "blk_size", len))
		device.config.blk_size = n;
	else if (!strncmp(text, "size_max", len))
		device.config.size_max = n;
	else if (!strncmp(text, "num_queues", len))
		device.config.num_queues = n;
	else
		exit(2);
}

static int create(int control, const char *name)
{
	struct vduse_dev_config *c = calloc(1, sizeof(*c) + sizeof(device.config));
	struct vduse_vq_config vq = { .max_size = device.vq_size };
	uint64_t version = 0;
	char path[300];
	int fd;

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->device_id = device.id;
	c->features = device.features;
	c->vq_num = device.vqs;
	c->vq_align = 4096;
	c->config_size = sizeof(device.config);
	memcpy(c->config, &device.config, sizeof(device.config));
	check(ioctl(control, VDUSE_SET_API_VERSION, &version), "VDUSE_SET_API_VERSION");
	check(ioctl(control, VDUSE_CREATE_DEV, c), "VDUSE_CREATE_DEV");
	free(c);
	snprintf(path, sizeof(path), "/dev/vduse/%s", name);
	fd = open(path, O_RDWR | O_NONBLOCK);
	check(fd, path);
	for (vq.index = 0; vq.index < device.vqs; vq.index++)
		check(ioctl(fd, VDUSE_VQ_SETUP, &vq), "VDUSE_VQ_SETUP");
	return fd;
}

/* Returns whether the device begins: its driver is ready. */
static bool answer(int fd)
{
	struct vduse_dev_request request;
	struct vduse_dev_response response = { .result = VDUSE_REQ_RESULT_OK };
	bool start, refuse;

	if (read(fd, &request, sizeof(request)) != sizeof(request))
		return false;
	start = request.type == VDUSE_SET_STATUS && request.s.status & VIRTIO_CONFIG_S_DRIVER_OK;
	refuse = (start && does("refuse-start")) || (request.type == VDUSE_UPDATE_IOTLB && does("refuse-map")) ||
		 (request.type == VDUSE_SET_STATUS && request.s.status & VIRTIO_CONFIG_S_FEATURES_OK && !start &&
		  does("refuse-features"));
	response.request_id = request.request_id;
	if (refuse)
		response.result = VDUSE_REQ_RESULT_FAILED;
	check(write(fd, &response, sizeof(response)), "answer");
	return start && !refuse;
}

/* The driver's memory is one range. */
struct memory {
	char *base;
	uint64_t start;
};

static void *at(const struct memory *m, uint64_t address)
{
	return m->base + (address - m->start);
}

static struct memory map(int fd)
{
	struct vduse_iotlb_entry entry = { .start = 0, .last = UINT64_MAX };
	int file = ioctl(fd, VDUSE_IOTLB_GET_FD, &entry);
	struct memory m;

	check(file, "VDUSE_IOTLB_GET_FD");
	m.start = entry.start;
	m.base = mmap(NULL, entry.last - entry.start + 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, entry.offset);
	if (m.base == MAP_FAILED)
		check(-1, "mmap");
	close(file);
	return m;
}

static void put(struct vring_used *used, unsigned int num, uint32_t id, uint32_t len)
{
	used->ring[used->idx % num] = (struct vring_used_elem) { .id = id, .len = len };
	__atomic_store_n(&used->idx, used->idx + 1, __ATOMIC_RELEASE);
}

/* Status is the last byte of a chain. */
static void complete(const struct memory *m, struct vring_desc *desc, uint16_t i, uint8_t status)
{
	for (; desc[i].flags & VRING_DESC_F_NEXT; i = desc[i].next)
		;
	*(uint8_t *)at(m, desc[i].addr) = status;
}

static void serve(int fd, const struct memory *m)
{
	struct vduse_vq_info q = { .index = 0 };
	static uint16_t seen;
	struct vring_avail *avail;
	struct vring_used *used;
	struct vring_desc *desc;
	unsigned int index = 0;

	check(ioctl(fd, VDUSE_VQ_GET_INFO, &q), "VDUSE_VQ_GET_INFO");
	desc = at(m, q.desc_addr);
	avail = at(m, q.driver_addr);
	used = at(m, q.device_addr);
	for (; seen != __atomic_load_n(&avail->idx, __ATOMIC_ACQUIRE); seen++) {
		uint16_t head = avail->ring[seen % q.num];

		complete(m, desc, head, does("bad-status") ? 77 : VIRTIO_BLK_S_OK);
		if (does("used-index"))
			__atomic_store_n(&used->idx, used->idx + q.num + 7, __ATOMIC_RELEASE);
		else if (does("used-id"))
			put(used, q.num, UINT32_MAX, 1);
		else if (does("not-a-head"))
			put(used, q.num, head + 1, 1);
		else
			put(used, q.num, head, does("used-length") ? UINT32_MAX : 1);
		if (does("used-twice"))
			put(used, q.num, head, 1);
	}
	check(ioctl(fd, VDUSE_VQ_INJECT_IRQ, &index), "VDUSE_VQ_INJECT_IRQ");
}

static void run(int fd)
{
	struct vduse_vq_eventfd kick = { .index = 0, .fd = eventfd(0, EFD_NONBLOCK) };
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = kick.fd, .events = POLLIN } };
	struct memory m = { 0 };
	uint64_t count;

	while (!over) {
		if (poll(p, 2, 200) < 0)
			continue;
		if (p[0].revents && answer(fd)) {
			m = map(fd);
			check(ioctl(fd, VDUSE_VQ_SETUP_KICKFD, &kick), "VDUSE_VQ_SETUP_KICKFD");
		}
		/* What its driver then reads is as it was: a change that is none. */
		if (m.base && does("silent"))
			ioctl(fd, VDUSE_DEV_INJECT_CONFIG_IRQ);
		if (!p[1].revents || read(kick.fd, &count, sizeof(count)) < 0 || !m.base)
			continue;
		if (does("die"))
			_exit(0);
		if (!does("silent"))
			serve(fd, &m);
	}
}

int main(int argc, char **argv)
{
	int control = open("/dev/vduse/control", O_RDWR), fd;
	char name[VDUSE_NAME_MAX] = "";

	check(control, "/dev/vduse/control");
	if (argc < 2)
		return 2;
	for (int i = 2; i < argc; i++)
		set(argv[i]);
	sigaction(SIGTERM, &(struct sigaction) { .sa_handler = end }, NULL);
	snprintf(name, sizeof(name), "%s", argv[1]);
	fd = create(control, name);
	run(fd);
	close(fd);
	check(ioctl(control, VDUSE_DESTROY_DEV, name), "VDUSE_DESTROY_DEV");
	return 0;
}
