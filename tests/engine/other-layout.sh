#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An fio of the right version that was configured otherwise, so that its structs are
# different, is refused with a sentence; a library in front of it stands in for one.
. "$(dirname "$0")/../fio.sh"

cat >other.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>

/* Jobs of 64 bytes more. */
int shmget(key_t key, size_t size, int flags)
{
	int (*real)(key_t, size_t, int) = (int (*)(key_t, size_t, int))dlsym(RTLD_NEXT, "shmget");

	return real(key, size + (getenv("LARGER_JOBS") ? 8 * 64 : 0), flags);
}

struct head { const char *name, *lname, *alias; int type; unsigned int off1; };

/* An option that has moved. */
void *dlopen(const char *file, int mode)
{
	void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	struct head *(*find)(void *, const char *) =
		(struct head *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "find_option");
	void *options = dlsym(RTLD_DEFAULT, "fio_options");

	if (file && strstr(file, "noop.so") && getenv("MOVED_OPTION") && find && options)
		find(options, getenv("MOVED_OPTION"))->off1 += 8;
	return real(file, mode);
}
END
"${CC:-gcc}" -shared -fPIC -o other.so other.c -ldl || skip "no compiler"
job=(--name=job --ioengine=external:"$FIO_DATAPLANE/engines/noop.so" --size=1m --rw=read)

# refused WORDS VARIABLE: one line with these words, and no success
refused()
{
	local status=0
	env "$2" LD_PRELOAD="$PWD/other.so" timeout 30 fio "${job[@]}" >said 2>&1 || status=$?
	((status > 0 && status < 128)) || { cat said; fail "$2: status $status"; }
	[ "$(grep -c "configured otherwise.*$1" said)" = 1 ] || { cat said; fail "$2: not said once"; }
}

refused 'jobs take' LARGER_JOBS=1
refused 'its iodepth= is at' MOVED_OPTION=iodepth
LD_PRELOAD="$PWD/other.so" timeout 30 fio "${job[@]}" >said 2>&1 || { cat said; fail "refused without a difference"; }
