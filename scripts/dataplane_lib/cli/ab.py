# SPDX-License-Identifier: GPL-2.0-only
"""The options of dataplane ab; what it does is in ab_run.py."""

import argparse

from .. import units
from . import options, own_job

_HELP = """\
what an arm may be, any of it together:
  poll=adaptive            an option of the target, or a ${poll} of the job file (as --vary has it)
  --poll adaptive          options of the target, as they are
  program=PATH             another build of a target of ours
  build=DIR                another build directory: target and engines
  tree=DIR                 a work tree of this project, which is made first
  command='PROGRAM … $socket'  any other server; or --server for both arms, with a $name that each arm gives a value
  job=FILE                 another job file
and --set-a, --set-b and --restore for what is outside, such as a kernel setting.

examples:
  dataplane ab --a poll=off --b 'poll=adaptive poll-max-ns=65536' poll-max-ns
  dataplane ab --a tree=../good --b tree=. --fail-if 'iops < -2%' --until-resolved poll-max-ns
  dataplane ab --against last-good,v1.0 --b tree=. --fail-if 'iops < -3%' poll-max-ns
  dataplane ab --a qemu=/usr/bin/qemu-nbd --b qemu=/opt/qemu/bin/qemu-nbd --file 256m \\
            --server '$qemu -t -k $socket -f raw --cache=writeback $file' my-nbd.fio
"""


def add(command):
    """Add ab to the command line; COMMAND(name, text, run) makes a parser."""
    sub = command("ab", "compare two arms in pairs of runs, with intervals", _run)
    sub.epilog, sub.formatter_class = _HELP, argparse.RawDescriptionHelpFormatter
    sub.add_argument("job", metavar="JOB", help=options.JOB_HELP)
    for arm in "ab":
        sub.add_argument(f"--{arm}", required=arm == "b", metavar="'ARM'", help=f"what is special about arm {arm.upper()}, see below ({'default: as it is, needs --against' if arm == 'a' else 'required'})")
        sub.add_argument(f"--set-{arm}", metavar="CMD", help=f"shell command before every run of {arm.upper()} (default: none)")
    sub.add_argument("--against", metavar="COMMIT[,…]",
                     help="A is a build of this commit, made in a work tree; last-good is the last one of this study and host that passed its gate, by the history. Of several the first "
                     "that there is, such as last-good,v1.0 (default: the build of --a)")
    sub.add_argument("--restore", metavar="CMD",
                     help="shell command after every run of an arm with --set-a or --set-b, failed and stopped ones too (default: none)")
    options.add_primary(sub, "iops, or that of --fail-if")
    sub.add_argument("--pairs", type=units.whole, default=10, metavar="N",
                     help="pairs of runs, an even number of 6 or more (default: %(default)s)")
    sub.add_argument("--until-resolved", action="store_true",
                     help="continue until --fail-if is decided; without it, until a difference is found or the interval lies within --dead-band")
    sub.add_argument("--precision", metavar="PCT",
                     help="continue until the primary metric's interval is at most PCT %% wide (default: only --pairs)")
    sub.add_argument("--budget", metavar="TIME", help="longest time for --until-resolved or --precision, in s, or such as 30m (default: 30m)")
    options.add_gate(sub, "; without --fail-if, with --until-resolved, smaller changes do not matter")
    sub.add_argument("--cool-down", default="0", metavar="TIME", help="pause before every run, in s, or such as 500ms (default: %(default)s)")
    sub.add_argument("--warmup", type=units.whole, default=1, metavar="N",
                     help="runs of each arm to discard first (default: %(default)s)")
    sub.add_argument("--server", metavar="'COMMAND'", help="any other server for both arms, as command in a study.toml (default: our target)")
    options.add_program(sub)
    own_job.add(sub)
    options.add_trace(sub)
    options.add_view(sub)
    options.add(sub, "target options of both arms (default: none)")


def _run(args):
    from . import ab_run  # scipy takes a while, and other commands have no need of it
    return ab_run.run(args)
