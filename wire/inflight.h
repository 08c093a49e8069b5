/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_INFLIGHT_H
#define WIRE_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/vq-device.h"

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
 * @resubmit: requests of an earlier device, oldest first
 * @nr_resubmit: how many
 * @next_resubmit: the one to be carried out next
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
	uint16_t *resubmit;
	unsigned int nr_resubmit;
	unsigned int next_resubmit;
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

int vq_inflight_begin(struct vq_inflight *t, struct vq_device *d, bool recover);
int vq_inflight_resubmit(struct vq_inflight *t, const struct vq_device *d,
			 const struct guest_memory *mem, struct vq_chain *c);
int vq_inflight_pop(struct vq_inflight *t, struct vq_device *d, const struct guest_memory *mem,
		    struct vq_chain *c);
void vq_inflight_push(struct vq_inflight *t, struct vq_device *d, const struct vq_chain *c,
		      uint32_t written);
bool vq_inflight_publish(struct vq_inflight *t, struct vq_device *d);

/* The packed ring's half, for the functions above. */
int inflight_packed_begin(struct vq_inflight *t, struct vq_device *d, bool from_record,
			  struct inflight_left *left);
void inflight_packed_taken(struct vq_inflight *t, const struct vq_device *d, unsigned int pos,
			   struct vq_chain *c);
int inflight_packed_read(struct vq_inflight *t, const struct vq_device *d,
			 const struct guest_memory *mem, uint16_t entry, struct vq_chain *c);
void inflight_packed_returned(struct vq_inflight *t, const struct vq_chain *c);
void inflight_packed_show(struct vq_inflight *t, const struct vq_device *d);
void inflight_packed_shown(struct vq_inflight *t, const struct vq_device *d);

#endif
