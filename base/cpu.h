/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#define CACHE_LINE	64

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/**
 * cpu_relax - tell the CPU that this is a spin loop
 *
 * Saves power and, on SMT, leaves the core to the sibling; it also keeps the
 * pipeline from filling with speculative loads of the line being waited for.
 */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#else
	__asm__ __volatile__("" ::: "memory");
#endif
}

#endif
