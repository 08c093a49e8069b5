/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_COVER_H
#define ENGINES_NBD_COVER_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct cover - whether the chunks of a structured read are the whole of it
 * @bytes: how many they have brought
 * @prefix: so many bytes from the start came in order; all of them, from most servers
 * @sum: over the other chunks, the point where each ends minus the point where it begins
 *
 * A server may send chunks in any order and of any number, but each place once. No list of
 * places is needed to see that it does. Take chunks for steps from where they begin to where they
 * end: they are the whole without an overlap exactly if they can be put in a row from 0 to the
 * length, and that is the case exactly if every other place begins as many chunks as it ends. (All
 * steps go up, so there are no circles, and one path is all that leaves 0.) So add up a number
 * for each end, take one off for each beginning, and compare with the same of one large step.
 * The numbers are random: with the places themselves as numbers this would count bytes, and
 * two chunks of the first half would pass.
 */
struct cover {
	uint32_t bytes;
	uint32_t prefix;
	uint64_t sum;
};

/* The number of a place: splitmix64's, which the server cannot know without @salt. */
static inline uint64_t cover_point(uint64_t salt, uint32_t place)
{
	uint64_t z = salt + place * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/**
 * cover_add - a chunk comes
 * @c: the read's, zeroed in the beginning
 * @salt: any random number, the same for all of a read
 * @from: where the chunk begins in the read, in bytes
 * @len: its bytes
 * @total: the read's bytes
 *
 * Return: false for one that is empty, leaves the read, or brings more than is missing.
 */
static inline bool cover_add(struct cover *c, uint64_t salt, uint64_t from, uint64_t len,
			     uint32_t total)
{
	if (!len || from > total || len > total - from || len > total - c->bytes)
		return false;
	c->bytes += len;
	if (from == c->prefix)
		c->prefix += len;
	else
		c->sum += cover_point(salt, from + len) - cover_point(salt, from);
	return true;
}

/**
 * cover_whole - the reply ends
 * @c: the read's
 * @salt: as before
 * @total: the read's bytes
 *
 * Return: whether every byte came, and came once; wrongly true once in 2^64.
 */
static inline bool cover_whole(const struct cover *c, uint64_t salt, uint32_t total)
{
	if (c->bytes != total)
		return false;
	return c->prefix == total ||
	       c->sum + cover_point(salt, c->prefix) == cover_point(salt, total);
}

#endif
