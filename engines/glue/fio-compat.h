/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_FIO_COMPAT_H
#define ENGINES_GLUE_FIO_COMPAT_H

/*
 * fio's own headers, and what differs between the versions of fio we build for. This is
 * the only file that knows of such differences.
 */
#include "config-host.h"
#include "fio.h"
#include "optgroup.h"

/*
 * fio-3.37 and later may trim several ranges at once, in a buffer of their own. The version of the
 * interface is 3.36's, so the Makefile looks for the option.
 */
#ifdef FIO_HAS_NUM_RANGE
#define job_trim_ranges(td)	((td)->o.num_range)
#else
#define job_trim_ranges(td)	1
#endif

/**
 * for_each_job - walk over every job of the run, in the order of the job file
 * @td: set to each in turn
 * @i: counter
 */
#define for_each_job(td, i) \
	for ((i) = 0; (i) < thread_number && ((td) = tnumber_to_td(i)); (i)++)

#endif
