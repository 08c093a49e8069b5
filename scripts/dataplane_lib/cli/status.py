# SPDX-License-Identifier: GPL-2.0-only
"""The exit status of every command, whatever happens in it: docs/exit-codes.md. Nothing but a measured regression is 1.

git bisect run takes 1 to 124 for "bad", so for it (--bisect, or when it is found to be the caller) what could not be measured in a commit is 125,
"skip", and what is wrong with the command line or with this program is 128 and above, which ends the bisection.
"""

import io
import os
import sys
import traceback

from ..errors import ABORT, INCONCLUSIVE, INTERRUPTED, NOT_MEASURED, READER_GONE, SKIP, USAGE, CommandLine, Refused

_FOREBEARS = 40

HELP = """\
Exit status of every command:
    0  success; with --fail-if: no limit is passed
    1  with --fail-if: a measured regression, and nothing else
    2  wrong usage: an option, a job file, a study, a result that is not there
    3  could not measure: a program is missing, something did not build, a run
       failed, a result is damaged; also an error of dataplane itself
    4  with --fail-if: inconclusive; more runs may decide
  130  interrupted (^C, SIGTERM, SIGHUP)
  141  the reader of the output went away

With --bisect, and where 'git bisect run' is found among the callers (unless
--no-bisect is given):
    0  as above: good
    1  as above: bad
  125  what was 3 or 4, and a job, study or option that the tree does not have:
       this commit is skipped
  129  a mistake on the command line, an error of dataplane itself: the
       bisection ends, no commit is blamed
  130  interrupted: the bisection ends
"""


def say(text):
    """TEXT on stderr, every line with the program's name."""
    for line in str(text).splitlines():
        print(f"dataplane: {line}", file=sys.stderr)


def guarded(run, argv):
    """The exit status of RUN(argv), which may raise anything."""
    try:
        bisect = for_bisect(argv)
    except Exception:  # noqa: BLE001: it is only asked who called
        bisect = "--bisect" in argv
    try:
        code = _run(run, argv)
    except CommandLine as err:
        say(err)
        return ABORT if bisect else err.status
    except Refused as err:
        # What a commit does not have yet, a job or an option, is refused as a mistake would be.
        say(err)
        return SKIP if bisect else err.status
    except SystemExit as err:
        code = err.code if isinstance(err.code, int) else 0 if err.code is None else USAGE
        return ABORT if bisect and code else code
    except KeyboardInterrupt:
        say("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        _let_go(sys.stdout)
        return READER_GONE
    except OSError as err:
        say(f"{err.filename + ': ' if isinstance(err.filename, str) else ''}{err.strerror or err}")
        _let_go(sys.stdout)
        return SKIP if bisect else NOT_MEASURED
    except BaseException:  # noqa: BLE001: Python would make it 1
        traceback.print_exc()
        say("internal error, nothing was decided")
        return ABORT if bisect else NOT_MEASURED
    return SKIP if bisect and code in (NOT_MEASURED, INCONCLUSIVE) else code


def _run(run, argv):
    # A name may hold bytes that are not UTF-8, and is printed as it is.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="surrogateescape")
    code = run(argv) or 0
    # At exit Python would answer a full disk with a status of its own.
    sys.stdout.flush()
    return code


def _let_go(stream):
    """What cannot be written to STREAM is not tried again at exit, for which Python has a status of its own."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def for_bisect(argv):
    """Are statuses those that git bisect run wants: with --bisect, or where it is among those who started us and there is no --no-bisect?"""
    given = argv[:argv.index("--")] if "--" in argv else argv
    if "--bisect" in given or "--no-bisect" in given:
        return "--bisect" in given
    return any(_is_bisect_run(words) for words in _forebears(os.getppid()))


def _forebears(pid):
    """The command lines of process PID, of its parent, and so on."""
    for _ in range(_FOREBEARS):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                yield [os.fsdecode(word) for word in file.read().split(b"\0")]
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if pid < 1:
            return


def _is_bisect_run(words):
    """'git bisect run …', or what git makes of that: the script git-bisect, bisect--helper --bisect-run."""
    names = [os.path.basename(word) for word in words[:4]]
    return ("git" in names[:1] and "bisect" in words and "run" in words) or ("git-bisect" in names and "run" in words) or "--bisect-run" in words
