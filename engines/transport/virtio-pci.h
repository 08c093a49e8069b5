/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_VIRTIO_PCI_H
#define ENGINES_TRANSPORT_VIRTIO_PCI_H

#include <linux/virtio_pci.h>
#include "engines/transport/vfio-pci.h"

/**
 * struct virtio_window - a part of a virtio device's memory
 * @at: where it is mapped, NULL when the device has none
 * @length: bytes
 */
struct virtio_window {
	volatile char *at;
	uint32_t length;
};

/**
 * struct virtio_pci - a modern virtio device on PCI, VIRTIO 1.2, 4.1
 * @common: its common configuration
 * @notify: where queues are notified
 * @notify_multiplier: bytes from one queue's place there to the next one's
 * @device: configuration of its kind of device
 * @timeout_ms: how long it may take for a reset
 * @features: negotiated features
 * @max_queues: queues it has
 * @why: why the last function failed
 */
struct virtio_pci {
	volatile struct virtio_pci_common_cfg *common;
	struct virtio_window notify;
	uint32_t notify_multiplier;
	struct virtio_window device;
	unsigned int timeout_ms;
	uint64_t features;
	unsigned int max_queues;
	struct why why;
};

/**
 * struct virtio_field - a field of the device's configuration
 * @offset: where it begins
 * @width: bytes, 1, 2, 4, or 8 as two of 4
 */
struct virtio_field {
	uint8_t offset;
	uint8_t width;
};

/**
 * struct virtio_pci_queue - a virtqueue to be
 * @num: entries
 * @desc: address of its descriptors, or ring, as the device sees it
 * @driver: of what the driver writes
 * @device: of what the device writes
 * @vector: MSI-X vector, VIRTIO_MSI_NO_VECTOR for none
 */
struct virtio_pci_queue {
	unsigned int num;
	uint64_t desc;
	uint64_t driver;
	uint64_t device;
	uint16_t vector;
};

int virtio_pci_find(struct virtio_pci *d, unsigned int type, const uint8_t *config,
		    const struct pci_bar *bar);
int virtio_pci_reset(struct virtio_pci *d);
int virtio_pci_negotiate(struct virtio_pci *d, uint64_t wanted, uint64_t needed);
int virtio_pci_read_config(struct virtio_pci *d, void *config, const struct virtio_field *field,
			   unsigned int n);
int virtio_pci_set_config_vector(struct virtio_pci *d, uint16_t vector);
unsigned int virtio_pci_queue_size(struct virtio_pci *d, unsigned int index);
int virtio_pci_start_queue(struct virtio_pci *d, unsigned int index,
			   const struct virtio_pci_queue *q, volatile void **doorbell);
void virtio_pci_driver_ok(struct virtio_pci *d);
uint8_t virtio_pci_status(const struct virtio_pci *d);

#endif
