/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

/* fio's headers have one that says the same. */
#undef container_of

/**
 * container_of - what a member lies in
 * @ptr: pointer to the member
 * @type: of what it lies in
 * @member: its name there
 *
 * Return: pointer to @type. The compiler warns about a @ptr that is not one to @member.
 */
#define container_of(ptr, type, member) \
	((type *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

#endif
