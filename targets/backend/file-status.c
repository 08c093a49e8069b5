/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <unistd.h>
#include "targets/backend/file.h"

/* Where there is data from @pos on; @end when there is none before that */
static uint64_t next_data(const struct backend *b, uint64_t pos, uint64_t end)
{
	off_t found = lseek(b->fd, pos, SEEK_DATA);

	/* Who cannot tell holes has data everywhere. */
	if (found < 0)
		return errno == ENXIO ? end : pos;
	return (uint64_t)found < end ? (uint64_t)found : end;
}

static uint64_t next_hole(const struct backend *b, uint64_t pos, uint64_t end)
{
	off_t found = lseek(b->fd, pos, SEEK_HOLE);

	return found < 0 || (uint64_t)found > end ? end : (uint64_t)found;
}

/*
 * What begins at @pos, to where it ends. Pieces are made of whole blocks, and a block that
 * has any data is data.
 */
static struct blk_extent piece_at(const struct backend *b, uint64_t pos, uint64_t end)
{
	uint64_t block = b->config.block_size;
	uint64_t data = next_data(b, pos, end);
	uint64_t hole = data < end ? data / block * block : end;

	if (hole > pos)
		return (struct blk_extent) { hole - pos, BLK_EXTENT_HOLE | BLK_EXTENT_ZERO };
	hole = (next_hole(b, data, end) + block - 1) / block * block;
	/* Another request may have punched it meanwhile. */
	if (hole <= pos)
		hole = pos + block;
	return (struct blk_extent) { (hole < end ? hole : end) - pos, 0 };
}

/**
 * file_block_status - say where a range is allocated
 * @b: the backend
 * @r: the request, whose extents are filled in
 *
 * What cannot be told, as on a block device, is data.
 *
 * Return: 0
 */
int file_block_status(struct backend *b, struct blk_request *r)
{
	uint64_t pos = r->offset, end = r->offset + r->len;
	unsigned int nr = 0;

	while (pos < end && nr < r->nr_extent) {
		struct blk_extent e = piece_at(b, pos, end);

		if (nr && r->extent[nr - 1].flags == e.flags)
			r->extent[nr - 1].len += e.len;
		else
			r->extent[nr++] = e;
		pos += e.len;
	}
	r->nr_extent = nr;
	return 0;
}
