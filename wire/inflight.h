/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_INFLIGHT_H
#define WIRE_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/chain.h"
#include "wire/packed-device.h"
#include "wire/split-device.h"

/*
 * Which requests a device has taken and not returned, in memory that outlives it: the front
 * end keeps it, and hands it to the device that comes after one that was killed. Layouts
 * and steps follow QEMU's docs/interop/vhost-user.rst, "Inflight I/O tracking".
 */

#define INFLIGHT_VERSION	1

struct inflight_split_desc {
	uint8_t inflight;
	uint8_t padding[5];
	uint16_t next;
	uint64_t counter;
};

struct inflight_split {
	uint64_t features;
	uint16_t version;
	uint16_t desc_num;
	uint16_t last_batch_head;
	uint16_t used_idx;
	struct inflight_split_desc desc[];
};

struct inflight_packed_desc {
	uint8_t inflight;
	uint8_t padding;
	uint16_t next;
	uint16_t last;
	uint16_t num;
	uint64_t counter;
	uint16_t id;
	uint16_t flags;
	uint32_t len;
	uint64_t addr;
};

struct inflight_packed {
	uint64_t features;
	uint16_t version;
	uint16_t desc_num;
	uint16_t free_head;
	uint16_t old_free_head;
	uint16_t used_idx;
	uint16_t old_used_idx;
	uint8_t used_wrap_counter;
	uint8_t old_used_wrap_counter;
	uint8_t padding[7];
	struct inflight_packed_desc desc[];
};

/**
 * struct vq_inflight - the record of one queue, kept by its device
 * @split: the shared part of a split queue's
 * @packed: of a packed queue's
 * @num: entries it has, at least as many as the queue
 * @counter: number of the next request
 * @batch: what has been returned and not been shown to the driver
 * @nr_batch: how many
 * @next: packed: list of free entries, as @packed has it; the front end could change that
 * @last: packed: last entry of each request
 * @free: packed: first free entry, @num without one
 * @again: requests of an earlier device, oldest first
 * @nr_again: how many
 * @next_again: the one to be carried out next
 */
struct vq_inflight {
	struct inflight_split *split;
	struct inflight_packed *packed;
	unsigned int num;
	uint64_t counter;
	uint16_t *batch;
	unsigned int nr_batch;
	uint16_t *next;
	uint16_t *last;
	uint16_t free;
	uint16_t *again;
	unsigned int nr_again;
	unsigned int next_again;
};

/**
 * struct inflight_left - a request that an earlier device left
 * @counter: its number
 * @entry: its head, or its first entry in a packed queue's record
 */
struct inflight_left {
	uint64_t counter;
	uint16_t entry;
};

size_t vq_inflight_bytes(bool is_packed, unsigned int num);
unsigned int vq_inflight_entries(bool is_packed, size_t bytes);
int vq_inflight_open(struct vq_inflight *t, bool is_packed, unsigned int num, void *shared);
void vq_inflight_close(struct vq_inflight *t);
void vq_inflight_order(struct vq_inflight *t, struct inflight_left *left, unsigned int n);

int inflight_split_resume(struct vq_inflight *t, struct split_device *d, bool recover);
void inflight_split_taken(struct vq_inflight *t, uint16_t head);
void inflight_split_returned(struct vq_inflight *t, uint16_t head);
void inflight_split_shown(struct vq_inflight *t, uint16_t used_idx);

int inflight_packed_resume(struct vq_inflight *t, struct packed_device *d, bool from_record);
void inflight_packed_taken(struct vq_inflight *t, const struct packed_device *d, unsigned int pos,
			   struct vq_chain *c);
int inflight_packed_again(struct vq_inflight *t, const struct packed_device *d,
			  const struct guest_memory *mem, uint16_t entry, struct vq_chain *c);
void inflight_packed_returned(struct vq_inflight *t, const struct vq_chain *c);
void inflight_packed_show(struct vq_inflight *t, const struct packed_device *d);
void inflight_packed_shown(struct vq_inflight *t, const struct packed_device *d);

#endif
