/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include "targets/device/virtio-blk.h"

#define SECTOR_SHIFT	9
#define SECTOR		(1u << SECTOR_SHIFT)

/* Two of a chain's pieces are header and status. */
#define SEG_MAX		(VQ_IOV_MAX - 4)

/* Ranges a discard or write-zeroes request may carry, and sectors in each: 1 GiB. */
#define RANGES_MAX	64
#define RANGE_SECTORS	(1u << (30 - SECTOR_SHIFT))

#define FEATURE(bit)	(1ull << (bit))

/**
 * blk_device_init - describe a device
 * @dev: filled in
 * @backend: where the data is
 * @block_size: logical block size in bytes, a power of two, at least 512
 * @read_only: offer VIRTIO_BLK_F_RO and refuse writes
 * @num_queues: most queues a driver may use
 *
 * VIRTIO 1.2, 5.2.3 and 5.2.4.
 */
void blk_device_init(struct blk_device *dev, struct backend *backend, uint32_t block_size,
		     bool read_only, unsigned int num_queues)
{
	*dev = (struct blk_device) {
		.backend = backend,
		.block_size = block_size,
		.features = FEATURE(VIRTIO_F_VERSION_1) | FEATURE(VIRTIO_BLK_F_MQ) |
			    FEATURE(VIRTIO_BLK_F_BLK_SIZE) | FEATURE(VIRTIO_BLK_F_SEG_MAX) |
			    FEATURE(VIRTIO_BLK_F_TOPOLOGY) | FEATURE(VIRTIO_BLK_F_FLUSH) |
			    FEATURE(VIRTIO_BLK_F_CONFIG_WCE) | FEATURE(VIRTIO_BLK_F_DISCARD) |
			    FEATURE(VIRTIO_BLK_F_WRITE_ZEROES) |
			    FEATURE(VIRTIO_RING_F_INDIRECT_DESC) | FEATURE(VIRTIO_RING_F_EVENT_IDX) |
			    FEATURE(VIRTIO_F_RING_PACKED),
		.config = {
			.capacity = htole64(backend->size >> SECTOR_SHIFT),
			.seg_max = htole32(SEG_MAX),
			.blk_size = htole32(block_size),
			.min_io_size = htole16(1),
			.opt_io_size = htole32(1),
			.wce = 1,
			.num_queues = htole16(num_queues),
			.max_discard_sectors = htole32(RANGE_SECTORS),
			.max_discard_seg = htole32(RANGES_MAX),
			.discard_sector_alignment = htole32(block_size >> SECTOR_SHIFT),
			.max_write_zeroes_sectors = htole32(RANGE_SECTORS),
			.max_write_zeroes_seg = htole32(RANGES_MAX),
			.write_zeroes_may_unmap = 1,
		},
	};
	if (read_only)
		dev->features |= FEATURE(VIRTIO_BLK_F_RO);
}

/* VIRTIO 1.2, 5.2.6.2: without a cache, or a way to flush it, a write is stable once it is done. */
static void set_durable(struct blk_device *dev)
{
	/* relaxed: requests that come at the same time may be taken for earlier or later ones */
	atomic_store_explicit(&dev->durable, dev->write_through || !dev->config.wce,
			      memory_order_relaxed);
}

/**
 * blk_device_negotiated - the driver has accepted features
 * @dev: the device
 * @features: those of them that both know
 */
void blk_device_negotiated(struct blk_device *dev, uint64_t features)
{
	dev->write_through = !(features & FEATURE(VIRTIO_BLK_F_FLUSH));
	set_durable(dev);
}

/**
 * blk_device_write_config - the driver writes to configuration space
 * @dev: the device
 * @offset: first byte
 * @size: bytes
 * @data: what to write
 *
 * Only the write cache setting may be written (VIRTIO 1.2, 5.2.5). It changes nothing
 * for backends whose completed writes are as durable as they get.
 *
 * Return: 0, or -EINVAL for anything else.
 */
int blk_device_write_config(struct blk_device *dev, uint32_t offset, uint32_t size,
			    const void *data)
{
	const uint8_t *wce = data;

	if (offset != offsetof(struct virtio_blk_config, wce) || size != 1 || *wce > 1)
		return -EINVAL;
	dev->config.wce = *wce;
	set_durable(dev);
	return 0;
}

static uint64_t pieces_len(const struct vblk_pieces *p)
{
	uint64_t len = 0;

	for (unsigned int i = 0; i < p->nr; i++)
		len += p->iov[i].iov_len;
	return len;
}

/* Take bytes from the front of pieces, which a driver may cut anywhere (VIRTIO 1.2, 2.7.4.1). */
static bool take(struct vblk_pieces *p, void *to, size_t len)
{
	while (len) {
		size_t n;

		if (!p->nr)
			return false;
		n = p->iov->iov_len < len ? p->iov->iov_len : len;
		memcpy(to, p->iov->iov_base, n);
		to = (char *)to + n;
		len -= n;
		p->iov->iov_base = (char *)p->iov->iov_base + n;
		p->iov->iov_len -= n;
		if (!p->iov->iov_len) {
			p->iov++;
			p->nr--;
		}
	}
	return true;
}

/* The same for the header, which every known driver has in a piece of its own. */
static bool take_header(struct vblk_pieces *p, struct virtio_blk_outhdr *hdr)
{
	if (unlikely(!p->nr || p->iov->iov_len != sizeof(*hdr)))
		return take(p, hdr, sizeof(*hdr));
	memcpy(hdr, p->iov->iov_base, sizeof(*hdr));
	p->iov++;
	p->nr--;
	return true;
}

/* The status is the last byte the device may write, alone in its piece or not. */
static uint8_t *take_status(struct vblk_pieces *p)
{
	struct iovec *last;

	if (!p->nr)
		return NULL;
	last = &p->iov[p->nr - 1];
	if (!--last->iov_len)
		p->nr--;
	return (uint8_t *)last->iov_base + last->iov_len;
}

static bool in_device(const struct blk_device *dev, uint64_t sector, uint64_t len)
{
	uint64_t size = dev->backend->size;
	uint64_t mask = dev->block_size - 1;

	if (sector > size >> SECTOR_SHIFT || len > size - (sector << SECTOR_SHIFT))
		return false;
	return !((sector << SECTOR_SHIFT) & mask) && !(len & mask);
}

static uint8_t status_of(int ret)
{
	if (!ret)
		return VIRTIO_BLK_S_OK;
	return ret == -EOPNOTSUPP ? VIRTIO_BLK_S_UNSUPP : VIRTIO_BLK_S_IOERR;
}

static struct channel_stats *stats(const struct vblk_request *r)
{
	return &r->channel->stats;
}

static bool is_read_only(const struct vblk_request *r)
{
	return r->dev->features & FEATURE(VIRTIO_BLK_F_RO);
}

static unsigned int fua(const struct blk_device *dev)
{
	return atomic_load_explicit(&dev->durable, memory_order_relaxed) ? BLK_FUA : 0;
}

static int finish(struct vblk_request *r, uint8_t status)
{
	if (status == VIRTIO_BLK_S_IOERR)
		counter_add(&stats(r)->errors, 1);
	r->status = status;
	return status;
}

static int next_range(struct vblk_request *r);

/* The backend is done with a request, or with one range of it. */
static int backend_done(struct vblk_request *r)
{
	const struct blk_request *blk = &r->blk;
	uint8_t status = status_of(blk->result);

	if (status != VIRTIO_BLK_S_OK)
		return finish(r, status);
	counter_add(&stats(r)->bytes[blk->kind], blk->len);
	if (blk->kind == REQ_READ)
		r->written += blk->len;
	return pieces_len(&r->ranges) ? next_range(r) : finish(r, status);
}

static void pending_done(struct blk_request *blk)
{
	struct vblk_request *r = (struct vblk_request *)blk;

	if (backend_done(r) != VBLK_PENDING)
		r->done(r);
}

static int ask_backend(struct vblk_request *r)
{
	r->blk.backend = r->dev->backend;
	r->blk.done = pending_done;
	if (!channel_submit(r->channel, &r->blk))
		return VBLK_PENDING;
	return backend_done(r);
}

static int do_data(struct vblk_request *r, const struct vblk_pieces *data, uint64_t sector)
{
	struct blk_request *blk = &r->blk;

	blk->len = pieces_len(data);
	if (!blk->len || !in_device(r->dev, sector, blk->len) ||
	    (blk->kind == REQ_WRITE && is_read_only(r)))
		return finish(r, VIRTIO_BLK_S_IOERR);
	blk->iov = data->iov;
	blk->nr_iov = data->nr;
	blk->offset = sector << SECTOR_SHIFT;
	blk->flags = blk->kind == REQ_WRITE ? fua(r->dev) : 0;
	return ask_backend(r);
}

static int do_flush(struct vblk_request *r)
{
	r->blk.offset = 0;
	r->blk.len = 0;
	r->blk.flags = 0;
	return ask_backend(r);
}

/* VIRTIO 1.2, 5.2.6.2: a flag the device does not know is unsupported, not an error. */
static uint8_t check_range(const struct blk_device *dev, enum request_kind kind, uint64_t sector,
			   uint32_t sectors, uint32_t flags)
{
	uint32_t known = kind == REQ_WRITE_ZEROES ? VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0;

	if (flags & ~known)
		return VIRTIO_BLK_S_UNSUPP;
	if (sectors > RANGE_SECTORS || !in_device(dev, sector, (uint64_t)sectors << SECTOR_SHIFT))
		return VIRTIO_BLK_S_IOERR;
	return VIRTIO_BLK_S_OK;
}

static int next_range(struct vblk_request *r)
{
	struct virtio_blk_discard_write_zeroes range;
	struct blk_request *blk = &r->blk;
	uint64_t sector;
	uint32_t sectors, flags;
	uint8_t status;

	take(&r->ranges, &range, sizeof(range));
	sector = le64toh(range.sector);
	sectors = le32toh(range.num_sectors);
	flags = le32toh(range.flags);
	status = check_range(r->dev, blk->kind, sector, sectors, flags);
	if (status != VIRTIO_BLK_S_OK)
		return finish(r, status);
	blk->offset = sector << SECTOR_SHIFT;
	blk->len = (uint64_t)sectors << SECTOR_SHIFT;
	blk->flags = (flags ? BLK_UNMAP : 0) | fua(r->dev);
	return ask_backend(r);
}

static int do_ranges(struct vblk_request *r, const struct vblk_pieces *out)
{
	uint64_t len = pieces_len(out), size = sizeof(struct virtio_blk_discard_write_zeroes);

	if (is_read_only(r) || !len || len % size || len / size > RANGES_MAX)
		return finish(r, VIRTIO_BLK_S_IOERR);
	r->ranges = *out;
	return next_range(r);
}

static uint8_t do_get_id(struct vblk_pieces *in, uint32_t *written)
{
	char id[VIRTIO_BLK_ID_BYTES] = "fio-dataplane";
	size_t done = 0;

	for (unsigned int i = 0; i < in->nr && done < sizeof(id); i++) {
		size_t n = sizeof(id) - done;

		if (n > in->iov[i].iov_len)
			n = in->iov[i].iov_len;
		memcpy(in->iov[i].iov_base, id + done, n);
		done += n;
	}
	*written += done;
	return done == sizeof(id) ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR;
}

static enum request_kind kind_of(uint32_t type)
{
	switch (type) {
	case VIRTIO_BLK_T_IN:
		return REQ_READ;
	case VIRTIO_BLK_T_OUT:
		return REQ_WRITE;
	case VIRTIO_BLK_T_FLUSH:
		return REQ_FLUSH;
	case VIRTIO_BLK_T_GET_ID:
		return REQ_GET_ID;
	case VIRTIO_BLK_T_DISCARD:
		return REQ_DISCARD;
	case VIRTIO_BLK_T_WRITE_ZEROES:
		return REQ_WRITE_ZEROES;
	default:
		return REQ_UNSUPPORTED;
	}
}

/**
 * vblk_submit - start a request
 * @r: the request; its chain filled in, and @r->done where the channel is not simple
 * @dev: the device
 * @channel: the calling iothread's
 *
 * The status byte is not stored: that is the queue's to do, and to make known. VIRTIO
 * 1.2, 5.2.6.
 *
 * Return: the status; VBLK_PENDING when @r->done will be called later; or -EPROTO for a
 * request without room for its status.
 */
int vblk_submit(struct vblk_request *r, struct blk_device *dev, struct channel *channel)
{
	struct vq_chain *c = &r->chain;
	struct vblk_pieces out = { c->iov, c->nr_read };
	struct vblk_pieces in = { c->iov + c->nr_read, c->nr_write };
	struct virtio_blk_outhdr hdr;

	r->dev = dev;
	r->channel = channel;
	r->ranges.nr = 0;
	r->status_at = take_status(&in);
	if (!r->status_at)
		return -EPROTO;
	r->written = 1;
	if (!take_header(&out, &hdr))
		return finish(r, VIRTIO_BLK_S_IOERR);

	r->blk.kind = kind_of(le32toh(hdr.type));
	counter_add(&stats(r)->requests[r->blk.kind], 1);
	switch (r->blk.kind) {
	case REQ_READ:
		return do_data(r, &in, le64toh(hdr.sector));
	case REQ_WRITE:
		return do_data(r, &out, le64toh(hdr.sector));
	case REQ_FLUSH:
		return do_flush(r);
	case REQ_DISCARD:
	case REQ_WRITE_ZEROES:
		return do_ranges(r, &out);
	case REQ_GET_ID:
		return finish(r, do_get_id(&in, &r->written));
	default:
		return finish(r, VIRTIO_BLK_S_UNSUPP);
	}
}

/**
 * vblk_cancel - drop a pending request whose driver is gone
 * @r: the request; called in the channel's iothread
 *
 * Return: true when @r->done will not be called; false when it will, once the driver's memory
 * is not in use any more, and not all that was asked for may have been done.
 */
bool vblk_cancel(struct vblk_request *r)
{
	r->ranges.nr = 0;
	return channel_cancel(r->channel, &r->blk);
}
