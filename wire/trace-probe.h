/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_TRACE_PROBE_H
#define WIRE_TRACE_PROBE_H

/*
 * The events of a trace as USDT probes of the provider "dataplane", for perf, bpftrace, SystemTap and gdb;
 * docs/traces.md has them all. A probe is a nop and an ELF note that says where it is and where its arguments lie
 * (type 3, owner "stapsdt": SystemTap wiki, UserSpaceProbeImplementation). It is there with a trace and without
 * one, so that arguments are what lies in a register or in memory anyway, or is constant: nothing is
 * computed for a probe.
 *
 * The notes are written here and not by sys/sdt.h, because the compiler takes that header's assembler for long
 * and no longer inlines the functions it stands in; "inline" says that it is one instruction. So the header
 * is not needed either. Compilers that do not know the word (GCC before 9, clang before 11) build without probes.
 */

#if !defined(NO_PROBES) && defined(__ELF__) && \
	(defined(__x86_64__) || defined(__aarch64__)) && \
	(defined(__clang__) ? __clang_major__ >= 11 : __GNUC__ >= 9)
#define PROBES_BUILT	"with USDT probes"

/* Where the note says that this section is, against where it is: how far the file was moved since it was linked */
#define PROBE_BASE						\
	".ifndef _.stapsdt.base\n"				\
	".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
	".weak _.stapsdt.base\n"				\
	".hidden _.stapsdt.base\n"				\
	"_.stapsdt.base: .space 1\n"				\
	".size _.stapsdt.base, 1\n"				\
	".popsection\n"						\
	".endif\n"

/* Lengths of name and description, the type, the name, the description: place, base, no semaphore, three strings. */
#define PROBE_AS(name, arguments, ...)				\
	__asm__ __inline__ __volatile__(			\
		"990: nop\n"					\
		".pushsection .note.stapsdt, \"\", \"note\"\n"	\
		".balign 4\n"					\
		".4byte 992f - 991f, 994f - 993f, 3\n"		\
		"991: .asciz \"stapsdt\"\n"			\
		"992: .balign 4\n"				\
		"993: .8byte 990b\n"				\
		".8byte _.stapsdt.base\n"			\
		".8byte 0\n"					\
		".asciz \"dataplane\"\n"			\
		".asciz \"" #name "\"\n"			\
		".asciz \"" arguments "\"\n"			\
		"994: .balign 4\n"				\
		".popsection\n"					\
		PROBE_BASE					\
		:: __VA_ARGS__)

/*
 * Arguments are IN_REG(value) or IN_MEM(lvalue): left to itself the compiler loads what is in memory into a register
 * first. A note has the bytes of each, and where it is; none is signed.
 */
#define IN_REG(value)		"nr", value
#define IN_MEM(lvalue)		"o", lvalue
#define PROBE_ARG(n, constraint, value)				\
	[s##n] "n" (sizeof(value)), [a##n] constraint (value)
#define PROBE_AT(n)		"%c[s" #n "]@%[a" #n "]"

#define PROBE(name)		PROBE_AS(name, "")
#define PROBE1(name, a)		PROBE_AS(name, PROBE_AT(0), PROBE_ARG(0, a))
#define PROBE2(name, a, b)	PROBE_AS(name, PROBE_AT(0) " " PROBE_AT(1), PROBE_ARG(0, a), PROBE_ARG(1, b))
#define PROBE3(name, a, b, c)					\
	PROBE_AS(name, PROBE_AT(0) " " PROBE_AT(1) " " PROBE_AT(2),	\
		 PROBE_ARG(0, a), PROBE_ARG(1, b), PROBE_ARG(2, c))
#define PROBE5(name, a, b, c, d, e)				\
	PROBE_AS(name, PROBE_AT(0) " " PROBE_AT(1) " " PROBE_AT(2) " " PROBE_AT(3) " " PROBE_AT(4), \
		 PROBE_ARG(0, a), PROBE_ARG(1, b), PROBE_ARG(2, c), PROBE_ARG(3, d), PROBE_ARG(4, e))

#else
#define IN_REG(value)		value
#define IN_MEM(lvalue)		lvalue
#define PROBES_BUILT		"without USDT probes"
#define PROBE(name)		((void)0)
#define PROBE1(name, a)		((void)(a))
#define PROBE2(name, a, b)	((void)(a), (void)(b))
#define PROBE3(name, a, b, c)	((void)(a), (void)(b), (void)(c))
#define PROBE5(name, a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))
#endif

#endif
