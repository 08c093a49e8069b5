# SPDX-License-Identifier: GPL-2.0-only
#
# make help says what there is to make.

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
FIO ?= fio
comma := ,

# Everything built goes to B. Builds with other compilers or sanitizers have a
# directory of their own, and share fio's headers, which are always in build/.
ifneq ($(SAN),)
B ?= build-$(subst $(comma),-,$(SAN))
endif
B ?= build

CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -fPIC -fvisibility=hidden -pthread -I.
ALL_LDFLAGS := -pthread $(LDFLAGS)
ifneq ($(filter-out 0,$(WERROR)),)
ALL_CFLAGS += -Werror
endif
ifneq ($(SAN),)
ALL_CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
ALL_LDFLAGS += -fsanitize=$(SAN)
# gcc says of each inlined fence that the thread sanitizer does not know it. Ours order atomic
# accesses, which are no data races without a fence either.
ALL_CFLAGS += $(if $(findstring clang,$(CC)),,-Wno-tsan)
endif
# Each program takes those that it calls.
LDLIBS += -Wl,--as-needed -laio -luring -lnbd -lm

# build/fio.mk tells which fio was found. It is made anew, and the engines with
# it, when the installed fio is another than last time.
ifneq ($(filter-out help clean distclean uninstall dist,$(or $(MAKECMDGOALS),all)),)
known_fio := $(shell sed -n 's/^FIO_VERSION := //p' build/fio.mk 2>/dev/null)
ifneq ($(known_fio),$(shell $(FIO) --version 2>/dev/null))
$(shell rm -f build/fio.mk)
endif
include build/fio.mk
endif
# A system directory's warnings are not ours; fio's own files find each other
# by quoted names beside themselves.
FIO_CFLAGS = -isystem $(FIO_HEADERS) -include $(FIO_HEADERS)/config-host.h \
	     -DFIO_BUILT_FOR='"$(FIO_VERSION)"' \
	     $(if $(shell grep -l num_range $(FIO_HEADERS)/thread_options.h 2>/dev/null),-DFIO_HAS_NUM_RANGE)

# What is there to build, by where it lies.
engines := $(wildcard engines/*.c)
glue := $(wildcard engines/glue/*.c)
engine_parts := $(filter-out $(glue),$(wildcard engines/*/*.c))
common := $(wildcard base/*.c wire/*.c)
mains := $(wildcard targets/*-target.c)
target_parts := $(filter-out $(mains),$(wildcard targets/*.c targets/*/*.c))
tools := $(wildcard tools/*.c)
units := $(wildcard tests/unit/*.c)
test_engines := $(wildcard tests/build/*.c)

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
engine_files := $(engines:engines/%.c=$(B)/engines/%.so)
target_files := $(mains:targets/%.c=$(B)/targets/%)
tool_files := $(tools:tools/%.c=$(B)/tools/%)
unit_files := $(units:tests/unit/%.c=$(B)/tests/unit/%)
test_engine_files := $(test_engines:tests/build/%.c=$(B)/tests/build/%.so)

.PHONY: all tests demo bench check check-full check-guest install uninstall dist deb clean distclean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(engine_files) $(target_files) $(tool_files)

tests: all $(unit_files) $(test_engine_files)

help:
	@echo 'make             build everything into build/ (first installs what is missing)'
	@echo 'make demo        build, then a short study: does polling pay here'
	@echo 'make bench       build, then what an I/O takes on each path, in minutes'
	@echo 'make check       build, then run the tests'
	@echo 'make check-guest install an emulator, run those tests that boot a Linux guest'
	@echo 'make check-full  the same, and make demo on a bare root of the distribution (slow)'
	@echo 'make install     PREFIX=$(PREFIX) DESTDIR='
	@echo 'make uninstall   remove what install put there, and nothing else'
	@echo 'make dist        a tarball of the source, build/fio-dataplane-VERSION.tar.xz'
	@echo 'make deb         a Debian package, build/deb/fio-dataplane_VERSION_ARCH.deb'
	@echo 'make clean       remove what was built, keep headers of fio; distclean: those too'
	@echo
	@echo 'CC=clang  WERROR=1  SAN=address,undefined or thread (own build directory)'
	@echo 'FIO=PROGRAM  which fio to build for;  FIO_SRC=DIR  its source, where apt has none'
	@echo 'FIO_SRCS=DIR:DIR  for check-full: sources of other versions of fio'

bench: all
	@scripts/install-deps run
	scripts/bench

demo: all
	@scripts/install-deps run
	scripts/dataplane run poll-max-ns --short

# Most tests wait more than they compute.
parallel = $(shell expr 2 '*' $$(nproc))
check: tests
	@B=$(B) tests/run -j $(parallel)

check-full: tests
	@B=$(B) CHECK_FULL=1 FIO_SRCS='$(FIO_SRCS)' tests/run -j $(parallel)

check-guest: all
	@scripts/install-deps guest
	@B=$(B) CHECK_GUEST=1 tests/run guest

# The tests' own needs come before what is built for them.
ifneq ($(filter tests check check-full,$(MAKECMDGOALS)),)
$(unit_files): | check-deps
.PHONY: check-deps
check-deps:
	@CC='$(CC)' scripts/install-deps check
endif

build/fio.mk: scripts/fio-headers
	@CC='$(CC)' scripts/install-deps run
	@mkdir -p build
	@headers=$$(FIO='$(FIO)' FIO_SRC='$(FIO_SRC)' CC='$(CC)' scripts/fio-headers build) && \
	version=$$($(FIO) --version) && \
	printf 'FIO_VERSION := %s\nFIO_HEADERS := %s\n' "$$version" "$$headers" >$@ && \
	echo "building for $$version"

# Objects made with other flags, or for another fio, are no good.
flags = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(FIO_VERSION)
$(B)/flags: FORCE
	@mkdir -p $(B)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' >$@

# Only what hooks into fio sees its headers: the driver and its transports know
# no fio.
fio_objects := $(call objects,$(test_engines) $(filter-out engines/driver/% engines/transport/%, \
		 $(engines) $(glue) $(engine_parts)))
$(fio_objects): private EXTRA = $(FIO_CFLAGS)
$(fio_objects): build/fio.mk
$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<

# Archives, so that each program takes only what it uses.
archive = rm -f $@ && $(AR) rcs $@ $^
$(B)/lib/common.a: $(call objects,$(common))
	@mkdir -p $(@D)
	$(archive)
$(B)/lib/engine.a: $(call objects,$(engine_parts))
	@mkdir -p $(@D)
	$(archive)
$(B)/lib/target.a: $(call objects,$(target_parts))
	@mkdir -p $(@D)
	$(archive)

# fio provides the symbols that are still open; -z now, so that one it lacks is
# an error at load and not a crash in the middle of a job.
engine_link = $(CC) -shared -Wl,-z,now $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)
$(B)/engines/%.so: $(B)/obj/engines/%.o $(call objects,$(glue)) $(B)/lib/engine.a $(B)/lib/target.a $(B)/lib/common.a
	@mkdir -p $(@D)
	$(engine_link)
$(B)/tests/build/%.so: $(B)/obj/tests/build/%.o
	@mkdir -p $(@D)
	$(engine_link)

link = $(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)
$(B)/targets/%: $(B)/obj/targets/%.o $(B)/lib/target.a $(B)/lib/common.a
	@mkdir -p $(@D)
	$(link)
$(B)/tools/%: $(B)/obj/tools/%.o $(B)/lib/target.a $(B)/lib/common.a
	@mkdir -p $(@D)
	$(link)
$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(B)/lib/target.a $(B)/lib/engine.a $(B)/lib/common.a
	@mkdir -p $(@D)
	$(link) -lcmocka

# The pages and completions of all programs are made together, from what they say of
# themselves.
$(B)/manual/done: $(engine_files) $(target_files) scripts/manual $(shell find scripts/manual_lib scripts/dataplane_lib -name '*.py')
	@scripts/install-deps install
	rm -rf $(@D)
	scripts/manual $(B) $(@D)
	@touch $@

# Everything lies under one directory, as scripts/dataplane expects it; stage holds all
# that is installed, as it will lie below the prefix.
stage := $(B)/stage
home := $(stage)/lib/fio-dataplane
$(stage)/done: $(B)/manual/done $(tool_files) $(shell find jobfiles scripts -type f ! -name '*.pyc')
	@rm -rf $(stage)
	install -d $(home)/engines $(home)/targets $(home)/tools $(stage)/bin
	install -m 644 $(engine_files) $(home)/engines
	install $(target_files) $(home)/targets
	install $(tool_files) $(home)/tools
	find scripts/dataplane_lib scripts/guest_lib jobfiles -type f ! -name '*.pyc' \
		-exec install -D -m 644 {} $(home)/{} \;
	install -D scripts/dataplane $(home)/scripts/dataplane
	for f in scripts/dataplane $(mains:%.c=%); do \
		ln -sf ../lib/fio-dataplane/$$f $(stage)/bin/$${f##*/} || exit; done
	install -D -m 644 -t $(stage)/share/man/man1 $(B)/manual/man/*.1
	install -D -m 644 -t $(stage)/share/bash-completion/completions $(B)/manual/bash/dataplane
	for f in $(mains:targets/%.c=%); do \
		ln -sf dataplane $(stage)/share/bash-completion/completions/$$f || exit; done
	install -D -m 644 -t $(stage)/share/zsh/site-functions $(B)/manual/zsh/_dataplane
	@touch $@

install: all $(stage)/done
	scripts/install-files install $(stage) "$(DESTDIR)$(PREFIX)"

uninstall:
	scripts/install-files uninstall "$(DESTDIR)$(PREFIX)"

# What git knows, as it lies here; the same tree gives the same file.
version := $(shell sed -n 's/.*FIO_DATAPLANE_VERSION.*"\(.*\)".*/\1/p' base/version.h)
dist_name := fio-dataplane-$(version)
dist:
	@mkdir -p $(B)
	@git rev-parse HEAD >/dev/null || { echo 'make dist: a clone is needed, to know which files belong to it' >&2; exit 1; }
	git ls-files -z | tar --create --xz --file=$(B)/$(dist_name).tar.xz --null --files-from=- \
		--transform='s,^,$(dist_name)/,S' --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime="@$$(git log -1 --format=%ct)"
	@echo $(B)/$(dist_name).tar.xz

deb:
	@scripts/install-deps deb
	@rm -rf $(B)/deb && mkdir -p $(B)/deb
	$(MAKE) dist
	tar -C $(B)/deb -xf $(B)/$(dist_name).tar.xz
	@mkdir -p $(B)/deb/$(dist_name)/build
	cp -a $(FIO_HEADERS) $(B)/deb/$(dist_name)/build/
	printf 'fio-dataplane (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' \
		$(version) "$$(sed -n 's/^Maintainer: //p' debian/control)" "$$(git log -1 --format=%cD)" \
		>$(B)/deb/$(dist_name)/debian/changelog
	cd $(B)/deb/$(dist_name) && unset MAKEFLAGS MAKELEVEL MFLAGS && dpkg-buildpackage --no-sign --build=binary
	@ls $(B)/deb/*.deb

clean:
	rm -rf build-* $(filter-out build/fio%,$(wildcard build/*))

distclean: clean
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
