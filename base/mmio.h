/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_MMIO_H
#define BASE_MMIO_H

#include <endian.h>
#include <stdint.h>

/*
 * Registers of a device, which are little-endian. A store comes after all that was written to
 * memory before it, and a load before all that is read from memory after it, as the device sees
 * it: x86 keeps that order by itself.
 */
#if defined(__aarch64__)
#define mmio_before_store()	__asm__ __volatile__("dmb oshst" ::: "memory")
#define mmio_after_load()	__asm__ __volatile__("dmb oshld" ::: "memory")
#elif defined(__x86_64__) || defined(__i386__)
#define mmio_before_store()	__asm__ __volatile__("" ::: "memory")
#define mmio_after_load()	__asm__ __volatile__("" ::: "memory")
#else
#define mmio_before_store()	__sync_synchronize()
#define mmio_after_load()	__sync_synchronize()
#endif

static inline void mmio_write8(volatile void *reg, uint8_t value)
{
	mmio_before_store();
	*(volatile uint8_t *)reg = value;
}

static inline void mmio_write16(volatile void *reg, uint16_t value)
{
	mmio_before_store();
	*(volatile uint16_t *)reg = htole16(value);
}

static inline void mmio_write32(volatile void *reg, uint32_t value)
{
	mmio_before_store();
	*(volatile uint32_t *)reg = htole32(value);
}

static inline uint8_t mmio_read8(const volatile void *reg)
{
	uint8_t value = *(const volatile uint8_t *)reg;

	mmio_after_load();
	return value;
}

static inline uint16_t mmio_read16(const volatile void *reg)
{
	uint16_t value = le16toh(*(const volatile uint16_t *)reg);

	mmio_after_load();
	return value;
}

static inline uint32_t mmio_read32(const volatile void *reg)
{
	uint32_t value = le32toh(*(const volatile uint32_t *)reg);

	mmio_after_load();
	return value;
}

#endif
