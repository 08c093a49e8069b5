/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A driver by hand for a vhost-vdpa device: vdpa-client CASE. It does what good drivers do not, and
 * says "ok" where the case ends as it should; whether the device survived is for the test to see.
 */
#include <errno.h>
#include <linux/vhost.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engines/transport/vhost-vdpa.h"

#define NUM		8u
#define RING		UINT64_C(0x10000000)	/* where the device has the ring, with headers and status */
#define DATA		UINT64_C(0x20000000)	/* and the data */
#define PAGE		4096u
#define HEADER		(3 * PAGE)
#define STATUS		(3 * PAGE + 64)

struct client {
	struct vdpa v;
	char *ring;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	int kick_fd;
	uint16_t issued;
};

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static char *share(int *fd)
{
	char *p;

	*fd = memfd_create("client", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, 4 * PAGE))
		die("memfd");
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void iotlb(struct client *c, uint8_t type, uint8_t perm, uint64_t iova, void *at)
{
	struct vhost_msg_v2 msg = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = iova, .size = 4 * PAGE, .uaddr = (uintptr_t)at, .perm = perm, .type = type,
		},
	};

	if (write(c->v.fd, &msg, sizeof(msg)) != sizeof(msg))
		die("IOTLB message");
}

static void start(struct client *c, const char *path)
{
	const uint64_t wanted = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_F_ACCESS_PLATFORM;
	struct vdpa_queue q = {
		.num = NUM, .desc = RING, .driver = RING + PAGE, .device = RING + 2 * PAGE, .call_fd = -1,
	};
	int fd;

	*c = (struct client) { .kick_fd = eventfd(0, EFD_CLOEXEC) };
	c->ring = share(&fd);
	c->desc = (void *)c->ring;
	c->avail = (void *)(c->ring + PAGE);
	c->used = (void *)(c->ring + 2 * PAGE);
	q.kick_fd = c->kick_fd;
	if (vdpa_open(&c->v, path) || vdpa_negotiate(&c->v, wanted, wanted))
		die(c->v.why.text);
	iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RW, RING, c->ring);
	if (vdpa_start_queue(&c->v, 0, &q) || vdpa_driver_ok(&c->v))
		die(c->v.why.text);
}

/* Issue a request of a page at DATA; returns its status, or -1 if the device does not answer. */
static int request(struct client *c, uint32_t type, uint64_t sector, uint64_t data)
{
	struct virtio_blk_outhdr *h = (void *)(c->ring + HEADER);
	volatile uint8_t *status = (void *)(c->ring + STATUS);
	uint64_t one = 1;

	*h = (struct virtio_blk_outhdr) { .type = type, .sector = sector };
	*status = 0xff;
	c->desc[0] = (struct vring_desc) { RING + HEADER, sizeof(*h), VRING_DESC_F_NEXT, 1 };
	c->desc[1] = (struct vring_desc) { data, PAGE, VRING_DESC_F_NEXT | (type == VIRTIO_BLK_T_IN ? VRING_DESC_F_WRITE : 0), 2 };
	c->desc[2] = (struct vring_desc) { RING + STATUS, 1, VRING_DESC_F_WRITE, 0 };
	c->avail->ring[c->issued++ % NUM] = 0;
	__atomic_store_n(&c->avail->idx, c->issued, __ATOMIC_RELEASE);
	if (write(c->kick_fd, &one, sizeof(one)) != sizeof(one))
		die("kick");
	for (int i = 0; i < 2000; i++) {
		if (__atomic_load_n(&c->used->idx, __ATOMIC_ACQUIRE) == c->issued)
			return *status;
		usleep(1000);
	}
	return -1;
}

static bool all(const char *p, char byte)
{
	for (unsigned int i = 0; i < PAGE; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/* Memory is exchanged while the queue runs: the device must use what is mapped now, and nothing else. */
static bool exchange(struct client *c)
{
	int fd;
	char *a = share(&fd), *b = share(&fd);
	bool ok = true;

	for (unsigned int i = 0; i < 50 && ok; i++) {
		memset(a, 'a' + (int)(i % 20), PAGE);
		memset(b, 'A' + (int)(i % 20), PAGE);
		iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RW, DATA, a);
		ok = request(c, VIRTIO_BLK_T_OUT, 0, DATA) == VIRTIO_BLK_S_OK;
		iotlb(c, VHOST_IOTLB_INVALIDATE, 0, DATA, NULL);
		iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RW, DATA, b);
		ok = ok && request(c, VIRTIO_BLK_T_OUT, 8, DATA) == VIRTIO_BLK_S_OK &&
		     request(c, VIRTIO_BLK_T_IN, 0, DATA) == VIRTIO_BLK_S_OK &&
		     all(b, a[0]) && request(c, VIRTIO_BLK_T_IN, 8, DATA) == VIRTIO_BLK_S_OK &&
		     all(b, 'A' + (char)(i % 20)) && all(a, 'a' + (char)(i % 20));
		iotlb(c, VHOST_IOTLB_INVALIDATE, 0, DATA, NULL);
	}
	return ok;
}

static bool unmapped(struct client *c)
{
	return request(c, VIRTIO_BLK_T_IN, 0, DATA) == -1;
}

/* Used once, then taken away: the device must not go on using it. */
static bool taken_away(struct client *c)
{
	int fd;
	char *a = share(&fd);

	iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RW, DATA, a);
	if (request(c, VIRTIO_BLK_T_OUT, 0, DATA) != VIRTIO_BLK_S_OK)
		return false;
	iotlb(c, VHOST_IOTLB_INVALIDATE, 0, DATA, NULL);
	memset(a, 'x', PAGE);
	return request(c, VIRTIO_BLK_T_IN, 0, DATA) == -1 && all(a, 'x');
}

static bool ring_taken_away(struct client *c)
{
	iotlb(c, VHOST_IOTLB_INVALIDATE, 0, RING, NULL);
	return request(c, VIRTIO_BLK_T_IN, 0, RING) == -1;
}

static bool truncated(struct client *c)
{
	int fd;
	char *a = share(&fd);

	iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RW, DATA, a);
	if (request(c, VIRTIO_BLK_T_OUT, 0, DATA) != VIRTIO_BLK_S_OK || ftruncate(fd, 0))
		return false;
	return request(c, VIRTIO_BLK_T_IN, 0, DATA) == -1;
}

/* What the device may only read it must not write. */
static bool read_only(struct client *c)
{
	int fd;
	char *a = share(&fd);

	iotlb(c, VHOST_IOTLB_UPDATE, VHOST_ACCESS_RO, DATA, a);
	memset(a, 'r', PAGE);
	if (request(c, VIRTIO_BLK_T_OUT, 0, DATA) != VIRTIO_BLK_S_OK)
		return false;
	memset(a, 's', PAGE);
	request(c, VIRTIO_BLK_T_IN, 0, DATA);
	return all(a, 's');
}

static bool chain_loops(struct client *c)
{
	uint64_t one = 1;

	c->desc[0] = (struct vring_desc) { RING + HEADER, 16, VRING_DESC_F_NEXT, 1 };
	c->desc[1] = (struct vring_desc) { RING + HEADER, 16, VRING_DESC_F_NEXT, 0 };
	__atomic_store_n(&c->avail->idx, 1, __ATOMIC_RELEASE);
	if (write(c->kick_fd, &one, sizeof(one)) != sizeof(one))
		die("kick");
	usleep(500000);
	return !c->used->idx;
}

/* VHOST_GET_VRING_BASE says how far the device has come, and the queue goes on. */
static bool base(struct client *c)
{
	struct vhost_vring_state state = { 0 };

	for (unsigned int i = 1; i < 5; i++) {
		if (request(c, VIRTIO_BLK_T_OUT, 0, RING) != VIRTIO_BLK_S_OK)
			return false;
		if (ioctl(c->v.fd, VHOST_GET_VRING_BASE, &state) || state.num != i)
			return false;
	}
	return true;
}

static const struct {
	const char *name;
	bool (*fn)(struct client *c);
} cases[] = {
	{ "exchange", exchange }, { "unmapped", unmapped }, { "taken-away", taken_away },
	{ "ring-taken-away", ring_taken_away }, { "truncated", truncated }, { "read-only", read_only },
	{ "chain-loops", chain_loops }, { "base", base },
};

int main(int argc, char **argv)
{
	struct client c;

	for (unsigned int i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok;

		if (strcmp(cases[i].name, argv[1]))
			continue;
		start(&c, "/dev/vhost-vdpa-0");
		ok = cases[i].fn(&c);
		printf("%s\n", ok ? "ok" : "NOT ok");
		vdpa_close(&c.v);
		return !ok;
	}
	printf("no such case\n");
	return 2;
}
