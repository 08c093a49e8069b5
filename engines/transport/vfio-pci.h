/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_VFIO_PCI_H
#define ENGINES_TRANSPORT_VFIO_PCI_H

#include <linux/pci_regs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engines/transport/why.h"

/**
 * struct pci_bar - memory of a PCI device
 * @at: where it is mapped here, NULL when it is not
 * @size: bytes
 */
struct pci_bar {
	volatile char *at;
	uint64_t size;
};

/**
 * struct vfio_pci - a PCI device that the kernel has given to user space
 * @container: its address space, with an IOMMU's page table
 * @group: what the IOMMU cannot tell apart from it
 * @device: it
 * @request_fd: eventfd, readable once the kernel wants the device back; -1 without
 * @config: the device's configuration space, as it was found
 * @bar: its memory
 * @vectors: MSI-X vectors it has
 * @why: why the last function failed
 *
 * When the last copy of @device is closed, by whatever end of the processes that have it, the
 * kernel stops its DMA and interrupts, resets it and undoes the IOMMU's mappings.
 */
struct vfio_pci {
	int container;
	int group;
	int device;
	int request_fd;
	uint8_t config[PCI_CFG_SPACE_SIZE];
	struct pci_bar bar[PCI_STD_NUM_BARS];
	unsigned int vectors;
	struct why why;
};

int vfio_pci_open(struct vfio_pci *v, const char *address);
int vfio_pci_map_memory(struct vfio_pci *v, void *base, size_t size, uint64_t *iova);
int vfio_pci_set_vectors(struct vfio_pci *v, const int *fds, unsigned int n);
void vfio_pci_close(struct vfio_pci *v);

#endif
