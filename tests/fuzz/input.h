/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* struct input - what a fuzzer gives, taken from the front; zeroes behind its end */
struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint32_t take_bytes(struct input *in, unsigned int n)
{
	uint32_t v = 0;

	while (n-- && in->left) {
		v = v << 8 | *in->data++;
		in->left--;
	}
	return v;
}

#endif
