/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "engines/transport/arena.h"
#include "engines/transport/vfio-pci.h"

/*
 * A PCI device through the kernel's VFIO (Documentation/driver-api/vfio.rst): container, group
 * and device, type 1 IOMMU. This knows nothing of virtio.
 */

#define SYSFS		"/sys/bus/pci/devices/"
#define CONTAINER	"/dev/vfio/vfio"
#define MODULES		"modprobe vfio-pci vfio_iommu_type1"

/* Where memory is put when a kernel before 5.4 does not tell what the IOMMU takes. */
#define IOVA_USUAL	(4ull << 30)
#define IOVA_USUAL_END	((1ull << 39) - 1)

/* 0000:00:04.0, with the domain's four digits or more (PCI_DEVFN, kernel's pci_name()). */
static bool is_address(const char *s)
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	return sscanf(s, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) == 4 &&
	       !s[end] && strspn(s, "0123456789abcdef:.") == strlen(s) && slot < 32 && function < 8 &&
	       strcspn(s, ":") >= 4;
}

/* The last part of where a link of the device's leads to; returns whether there is one. */
static bool read_link(const char *address, const char *name, char *to, size_t len)
{
	char path[128], target[512];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), SYSFS "%s/%s", address, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(to, len, "%.*s", (int)len - 1, base ? base + 1 : target);
	return true;
}

/* What can be said before anything is opened; @group is set to its IOMMU group. */
static int look_up(struct vfio_pci *v, const char *address, char *group, size_t len)
{
	char path[128], driver[64];

	if (!is_address(address))
		return why_not(&v->why, EINVAL, "device= takes a PCI address such as 0000:00:04.0");
	snprintf(path, sizeof(path), SYSFS "%s", address);
	if (access(path, F_OK))
		return why_not(&v->why, ENODEV, "there is no PCI device with this address");
	if (!read_link(address, "driver", driver, sizeof(driver)))
		return why_not(&v->why, ENODEV, "it has no driver; try 'dataplane bind %s'", address);
	if (strcmp(driver, "vfio-pci"))
		return why_not(&v->why, ENODEV, "the kernel's %s drives it; try 'dataplane bind %s'", driver,
			       address);
	if (!read_link(address, "iommu_group", group, len))
		return why_not(&v->why, ENODEV, "it is in no IOMMU group: the machine has no IOMMU, or it is off (intel_iommu=on)");
	return 0;
}

static int open_container(struct vfio_pci *v)
{
	v->container = open(CONTAINER, O_RDWR | O_CLOEXEC);
	if (v->container < 0)
		return why_not(&v->why, errno, "cannot open " CONTAINER ": %s%s", strerror(errno),
			       errno == ENOENT || errno == ENODEV ? "; try '" MODULES "'" : "");
	if (ioctl(v->container, VFIO_GET_API_VERSION) != VFIO_API_VERSION)
		return why_not(&v->why, EOPNOTSUPP, "the kernel's VFIO speaks another version than %d",
			       VFIO_API_VERSION);
	if (ioctl(v->container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) <= 0)
		return why_not(&v->why, EOPNOTSUPP, "the kernel's VFIO has no type 1 IOMMU; try 'modprobe vfio_iommu_type1'");
	return 0;
}

static int open_group(struct vfio_pci *v, const char *number)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[64];

	snprintf(path, sizeof(path), "/dev/vfio/%s", number);
	v->group = open(path, O_RDWR | O_CLOEXEC);
	if (v->group < 0)
		return why_not(&v->why, errno, errno == EBUSY ? "%s is in use by another process" :
			       errno == EACCES ? "no permission to open %s" : "cannot open %s: %m", path);
	if (ioctl(v->group, VFIO_GROUP_GET_STATUS, &status))
		return why_not(&v->why, errno, "cannot look at %s: %m", path);
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return why_not(&v->why, EPERM, "the kernel drives other devices of its IOMMU group %s, see /sys/kernel/iommu_groups/%s/devices",
			       number, number);
	if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container))
		return why_not(&v->why, errno, "cannot use IOMMU group %s: %m", number);
	if (ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return why_not(&v->why, errno, "cannot set the IOMMU of group %s up: %m%s", number,
			       errno == EPERM ? " (no interrupt remapping? the kernel's log tells)" : "");
	return 0;
}

static int region_info(struct vfio_pci *v, unsigned int index, struct vfio_region_info *info)
{
	*info = (struct vfio_region_info) { .argsz = sizeof(*info), .index = index };
	if (ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, info))
		return why_not(&v->why, errno, "cannot look at its region %u: %m", index);
	return 0;
}

/* Read the configuration space, and let the device be addressed and do DMA (PCI 3.0, 6.2.2). */
static int wake_device(struct vfio_pci *v)
{
	struct vfio_region_info info;
	uint16_t command;
	int ret;

	ret = region_info(v, VFIO_PCI_CONFIG_REGION_INDEX, &info);
	if (ret)
		return ret;
	if (info.size < sizeof(v->config) ||
	    pread(v->device, v->config, sizeof(v->config), info.offset) != sizeof(v->config))
		return why_not(&v->why, EIO, "cannot read its configuration space");
	memcpy(&command, v->config + PCI_COMMAND, sizeof(command));
	command |= htole16(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	if (pwrite(v->device, &command, sizeof(command), info.offset + PCI_COMMAND) != sizeof(command))
		return why_not(&v->why, EIO, "cannot write its command register");
	return 0;
}

/* A region that cannot be mapped, such as one of I/O ports, is left out. */
static int map_bars(struct vfio_pci *v)
{
	struct vfio_region_info info;
	int ret;

	for (unsigned int i = 0; i < PCI_STD_NUM_BARS; i++) {
		void *at;

		ret = region_info(v, VFIO_PCI_BAR0_REGION_INDEX + i, &info);
		if (ret)
			return ret;
		if (!info.size || !(info.flags & VFIO_REGION_INFO_FLAG_MMAP))
			continue;
		at = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, v->device, info.offset);
		if (at == MAP_FAILED)
			return why_not(&v->why, errno, "cannot map its BAR %u: %m", i);
		v->bar[i] = (struct pci_bar) { .at = at, .size = info.size };
	}
	return 0;
}

static int set_irqs(struct vfio_pci *v, unsigned int index, const int *fds, unsigned int n)
{
	size_t bytes = sizeof(struct vfio_irq_set) + n * sizeof(*fds);
	struct vfio_irq_set *set = malloc(bytes);
	int ret;

	if (!set)
		return -ENOMEM;
	*set = (struct vfio_irq_set) {
		.argsz = bytes,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
		.index = index,
		.count = n,
	};
	memcpy(set->data, fds, n * sizeof(*fds));
	ret = ioctl(v->device, VFIO_DEVICE_SET_IRQS, set) ? -errno : 0;
	free(set);
	return ret;
}

/* Ask for a word before the device is taken away: an unbind waits for us until we close it. */
static int watch_requests(struct vfio_pci *v)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_REQ_IRQ_INDEX };
	int ret;

	if (ioctl(v->device, VFIO_DEVICE_GET_IRQ_INFO, &info) || !info.count)
		return 0;
	v->request_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->request_fd < 0)
		return why_not(&v->why, errno, "eventfd: %m");
	ret = set_irqs(v, VFIO_PCI_REQ_IRQ_INDEX, &v->request_fd, 1);
	return ret ? why_not(&v->why, -ret, "cannot watch for the kernel's requests: %s", strerror(-ret)) : 0;
}

static int open_device(struct vfio_pci *v, const char *address)
{
	struct vfio_irq_info irq = { .argsz = sizeof(irq), .index = VFIO_PCI_MSIX_IRQ_INDEX };
	struct vfio_device_info info = { .argsz = sizeof(info) };
	int ret;

	v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, address);
	if (v->device < 0)
		return why_not(&v->why, errno, "VFIO does not open it: %m");
	if (ioctl(v->device, VFIO_DEVICE_GET_INFO, &info))
		return why_not(&v->why, errno, "cannot look at it: %m");
	if (!(info.flags & VFIO_DEVICE_FLAGS_PCI) || info.num_regions <= VFIO_PCI_CONFIG_REGION_INDEX)
		return why_not(&v->why, ENODEV, "VFIO does not show it as a PCI device");
	if (!ioctl(v->device, VFIO_DEVICE_GET_IRQ_INFO, &irq) && irq.flags & VFIO_IRQ_INFO_EVENTFD)
		v->vectors = irq.count;
	ret = wake_device(v);
	if (!ret)
		ret = map_bars(v);
	return ret ? ret : watch_requests(v);
}

/**
 * vfio_pci_open - take a device that the vfio-pci driver holds
 * @v: filled in; vfio_pci_close() is for the caller, also after a failure
 * @address: such as 0000:00:04.0
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vfio_pci_open(struct vfio_pci *v, const char *address)
{
	char group[32];
	int ret;

	*v = (struct vfio_pci) { .container = -1, .group = -1, .device = -1, .request_fd = -1 };
	ret = look_up(v, address, group, sizeof(group));
	if (!ret)
		ret = open_container(v);
	if (!ret)
		ret = open_group(v, group);
	return ret ? ret : open_device(v, address);
}

/* The IOMMU's description with the capabilities behind it, for free(); NULL without. */
static struct vfio_iommu_type1_info *iommu_info(struct vfio_pci *v)
{
	struct vfio_iommu_type1_info *info = NULL, *larger;
	uint32_t bytes = sizeof(*info);

	for (;;) {
		larger = realloc(info, bytes);
		if (!larger)
			break;
		info = larger;
		memset(info, 0, bytes);
		info->argsz = bytes;
		if (ioctl(v->container, VFIO_IOMMU_GET_INFO, info))
			break;
		if (info->argsz <= bytes)
			return info;
		bytes = info->argsz;
	}
	free(info);
	return NULL;
}

/* The list of addresses that the IOMMU takes, inside @info; NULL without. */
static const struct vfio_iommu_type1_info_cap_iova_range *
iova_ranges(const struct vfio_iommu_type1_info *info)
{
	const struct vfio_info_cap_header *cap;
	uint32_t at = info->flags & VFIO_IOMMU_INFO_CAPS ? info->cap_offset : 0;

	for (; at && at + sizeof(*cap) <= info->argsz; at = cap->next) {
		const struct vfio_iommu_type1_info_cap_iova_range *r;

		cap = (const void *)((const char *)info + at);
		r = (const void *)cap;
		if (cap->id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE && at + sizeof(*r) <= info->argsz &&
		    r->nr_iovas <= (info->argsz - at - sizeof(*r)) / sizeof(r->iova_ranges[0]))
			return r;
		if (cap->next <= at)
			break;
	}
	return NULL;
}

/* Address 0 is left out: some devices take it for none. */
static bool fits(uint64_t start, uint64_t end, size_t size, uint64_t *iova)
{
	uint64_t at = start < ARENA_ALIGN ? ARENA_ALIGN : start;

	at = (at + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (at < start || at > end || end - at < size - 1)
		return false;
	*iova = at;
	return true;
}

static bool find_iova(struct vfio_pci *v, size_t size, uint64_t *iova)
{
	struct vfio_iommu_type1_info *info = iommu_info(v);
	const struct vfio_iommu_type1_info_cap_iova_range *r = info ? iova_ranges(info) : NULL;
	bool found = false;

	if (!r)
		found = fits(IOVA_USUAL, IOVA_USUAL_END, size, iova);
	for (uint32_t i = 0; r && i < r->nr_iovas && !found; i++)
		found = fits(r->iova_ranges[i].start, r->iova_ranges[i].end, size, iova);
	free(info);
	return found;
}

static int mapping_failed(struct vfio_pci *v, size_t size, int err)
{
	struct rlimit limit;

	if (err == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur < size)
		return why_not(&v->why, err, "%zu MiB of rings and I/O buffers have to stay in memory for its DMA, but this process may lock %ju KiB (RLIMIT_MEMLOCK): raise 'ulimit -l', or run as root",
			       size >> 20, (uintmax_t)limit.rlim_cur >> 10);
	return why_not(&v->why, err, "cannot map %zu MiB of rings and I/O buffers for its DMA: %s",
		       size >> 20, strerror(err));
}

/**
 * vfio_pci_map_memory - let the device reach memory, and keep that from being swapped
 * @v: the device
 * @base: the memory, on a boundary of ARENA_ALIGN
 * @size: bytes, a multiple of it
 * @iova: set to its address as the device sees it
 *
 * All of it is populated. The device reaches nothing else.
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vfio_pci_map_memory(struct vfio_pci *v, void *base, size_t size, uint64_t *iova)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)base,
		.size = size,
	};

	if (!find_iova(v, size, iova))
		return why_not(&v->why, ENOSPC, "the IOMMU has no room for %zu MiB of rings and I/O buffers", size >> 20);
	map.iova = *iova;
	return ioctl(v->container, VFIO_IOMMU_MAP_DMA, &map) ? mapping_failed(v, size, errno) : 0;
}

/**
 * vfio_pci_set_vectors - have MSI-X interrupts signal eventfds
 * @v: the device
 * @fds: for vectors 0 and up
 * @n: how many, at most @v->vectors
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vfio_pci_set_vectors(struct vfio_pci *v, const int *fds, unsigned int n)
{
	int ret = set_irqs(v, VFIO_PCI_MSIX_IRQ_INDEX, fds, n);

	return ret ? why_not(&v->why, -ret, "cannot set up %u MSI-X vectors: %s", n, strerror(-ret)) : 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/**
 * vfio_pci_close - leave a device, whatever has been done of the above
 * @v: the device
 */
void vfio_pci_close(struct vfio_pci *v)
{
	for (unsigned int i = 0; i < PCI_STD_NUM_BARS; i++) {
		if (v->bar[i].at)
			munmap((void *)v->bar[i].at, v->bar[i].size);
	}
	close_if_open(v->device);
	close_if_open(v->group);
	close_if_open(v->container);
	close_if_open(v->request_fd);
}
