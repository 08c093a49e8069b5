/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small fast random number generator (xoshiro256**), one for each thread
 * that draws. The same seed always gives the same numbers.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

/**
 * rng_seed() - Start a sequence
 * @r:		Generator
 * @seed:	Any number, neighbouring ones give unrelated sequences
 */
static inline void rng_seed(struct rng *r, uint64_t seed)
{
	/* splitmix64 fills the state, which must not be all zeros */
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ z >> 31;
	}
}

static inline uint64_t rng_rotl(uint64_t x, unsigned int k)
{
	return x << k | x >> (64 - k);
}

/**
 * rng_u64() - Draw 64 random bits
 * @r:	Generator
 *
 * Return: any 64-bit number
 */
static inline uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t ret = rng_rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotl(s[3], 45);
	return ret;
}

/**
 * rng_below() - Draw an integer
 * @r:	Generator
 * @n:	Bound, at least 1
 *
 * Return: 0 to @n - 1
 */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	/* Uneven by n / 2^64 at most, which no simulation can see */
	return (uint64_t)((unsigned __int128)rng_u64(r) * n >> 64);
}

/**
 * rng_double() - Draw a number from 0 up to, but not including, 1
 * @r:	Generator
 *
 * Return: a multiple of 2^-53
 */
static inline double rng_double(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

#endif /* BASE_RNG_H */
