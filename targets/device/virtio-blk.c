/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <linux/virtio_config.h>
#include "base/clock.h"
#include "base/cpu.h"
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
			    FEATURE(VIRTIO_RING_F_INDIRECT_DESC) | FEATURE(VIRTIO_RING_F_EVENT_IDX),
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
	return 0;
}

/* Pieces of one direction, consumed from the front. */
struct pieces {
	struct iovec *iov;
	unsigned int nr;
};

static uint64_t pieces_len(const struct pieces *p)
{
	uint64_t len = 0;

	for (unsigned int i = 0; i < p->nr; i++)
		len += p->iov[i].iov_len;
	return len;
}

/* Drivers may cut the header anywhere (VIRTIO 1.2, 2.7.4.1), though none is known to. */
static bool take(struct pieces *p, void *to, size_t len)
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

/* The status is the last byte the device may write, alone in its piece or not. */
static uint8_t *take_status(struct pieces *p)
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

static uint8_t do_read(struct blk_device *dev, uint64_t sector, struct pieces *in,
		       struct iothread_stats *stats, uint32_t *written)
{
	uint64_t len = pieces_len(in);
	int ret;

	if (!len || !in_device(dev, sector, len))
		return VIRTIO_BLK_S_IOERR;
	ret = dev->backend->ops->read(dev->backend, in->iov, in->nr, sector << SECTOR_SHIFT);
	if (!ret) {
		*written += len;
		counter_add(&stats->bytes[REQ_READ], len);
	}
	return status_of(ret);
}

static uint8_t do_write(struct blk_device *dev, uint64_t sector, struct pieces *out,
			struct iothread_stats *stats)
{
	uint64_t len = pieces_len(out);
	int ret;

	if (!len || !in_device(dev, sector, len) || dev->features & FEATURE(VIRTIO_BLK_F_RO))
		return VIRTIO_BLK_S_IOERR;
	ret = dev->backend->ops->write(dev->backend, out->iov, out->nr, sector << SECTOR_SHIFT);
	if (!ret)
		counter_add(&stats->bytes[REQ_WRITE], len);
	return status_of(ret);
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

static uint8_t do_ranges(struct blk_device *dev, enum request_kind kind, struct pieces *out,
			 struct iothread_stats *stats)
{
	const struct backend_ops *ops = dev->backend->ops;
	uint64_t len = pieces_len(out);
	struct virtio_blk_discard_write_zeroes range;

	if (dev->features & FEATURE(VIRTIO_BLK_F_RO) || !len || len % sizeof(range) ||
	    len / sizeof(range) > RANGES_MAX)
		return VIRTIO_BLK_S_IOERR;

	while (take(out, &range, sizeof(range))) {
		uint64_t sector = le64toh(range.sector);
		uint32_t sectors = le32toh(range.num_sectors), flags = le32toh(range.flags);
		uint64_t offset = sector << SECTOR_SHIFT, bytes = (uint64_t)sectors << SECTOR_SHIFT;
		uint8_t status = check_range(dev, kind, sector, sectors, flags);

		if (status == VIRTIO_BLK_S_OK)
			status = status_of(kind == REQ_DISCARD ?
					   ops->discard(dev->backend, offset, bytes) :
					   ops->write_zeroes(dev->backend, offset, bytes, flags));
		if (status != VIRTIO_BLK_S_OK)
			return status;
		counter_add(&stats->bytes[kind], bytes);
	}
	return VIRTIO_BLK_S_OK;
}

static uint8_t do_get_id(struct pieces *in, uint32_t *written)
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

static void burn(uint64_t ns)
{
	uint64_t until = clock_ns() + ns;

	while (clock_ns() < until)
		cpu_relax();
}

/**
 * blk_device_execute - carry a request out
 * @dev: the device
 * @c: the request; its pieces are consumed
 * @stats: the calling iothread's
 * @status_at: set to where the status byte goes
 * @written: set to the bytes written into the request's memory, status included
 *
 * The status byte is not stored, as an emulated device may have to take its time first.
 * VIRTIO 1.2, 5.2.6.
 *
 * Return: the status, or -EPROTO for a request without room for it.
 */
int blk_device_execute(struct blk_device *dev, struct vq_chain *c, struct iothread_stats *stats,
		       uint8_t **status_at, uint32_t *written)
{
	struct pieces out = { c->iov, c->nr_read };
	struct pieces in = { c->iov + c->nr_read, c->nr_write };
	struct virtio_blk_outhdr hdr;
	enum request_kind kind;
	int status = VIRTIO_BLK_S_UNSUPP;

	*status_at = take_status(&in);
	if (!*status_at)
		return -EPROTO;
	*written = 1;
	if (dev->request_cost_ns)
		burn(dev->request_cost_ns);

	if (!take(&out, &hdr, sizeof(hdr))) {
		counter_add(&stats->errors, 1);
		return VIRTIO_BLK_S_IOERR;
	}
	kind = kind_of(le32toh(hdr.type));
	counter_add(&stats->requests[kind], 1);
	switch (kind) {
	case REQ_READ:
		status = do_read(dev, le64toh(hdr.sector), &in, stats, written);
		break;
	case REQ_WRITE:
		status = do_write(dev, le64toh(hdr.sector), &out, stats);
		break;
	case REQ_FLUSH:
		status = status_of(dev->backend->ops->flush(dev->backend));
		break;
	case REQ_DISCARD:
	case REQ_WRITE_ZEROES:
		status = do_ranges(dev, kind, &out, stats);
		break;
	case REQ_GET_ID:
		status = do_get_id(&in, written);
		break;
	case REQ_UNSUPPORTED:
	case REQ_KINDS:
		break;
	}
	if (status == VIRTIO_BLK_S_IOERR)
		counter_add(&stats->errors, 1);
	return status;
}
