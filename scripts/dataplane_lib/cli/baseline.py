# SPDX-License-Identifier: GPL-2.0-only
"""dataplane baseline: sessions of one study under a name, for compare --base.

A baseline is a directory of sessions, each the one file of a result, so that it stays when the result goes.
"""

import argparse
import re
import shutil

from .. import files, paths, units
from . import for_json
from ..host import system
from ..read import store
from ..errors import CommandLine, Refused

_HELP = """\
  baseline add NAME RESULT…      copy results into the baseline, a session each
  baseline list [NAME]           the baselines, or the sessions of one
  baseline remove NAME [SESSION…]  the whole baseline, or these sessions

Then 'compare --base NAME RESULT…' compares results with all of its sessions.
Runs of one session have in common what the next one has otherwise, so a gate
(--fail-if) needs three sessions or more on each side. Baselines are kept in
results/baselines.
"""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def add(command, result):
    """Add baseline to the command line; RESULT(text) is the directory of one."""
    sub = command("baseline", "keep sessions under a name, for compare --base", lambda args: run(args, result))
    sub.epilog, sub.formatter_class = _HELP, argparse.RawDescriptionHelpFormatter
    sub.add_argument("action", choices=("add", "list", "remove"), help="what to do, see below")
    sub.add_argument("name", metavar="NAME", nargs="?", help="the baseline: letters, digits and . _ + - (add makes it)")
    sub.add_argument("result", metavar="RESULT", nargs="*", help="results to add (directories, or names under results/), or sessions to remove")
    for_json.add(sub)


def run(args, result):
    """The command."""
    with for_json.delivered(args, "baseline") as data:
        _run(args, result, data.setdefault("baselines", {}))


def _run(args, result, data):
    """What the command does; DATA gets {name: its sessions that were listed, added or removed}."""
    if args.action == "list":
        if args.result:
            raise CommandLine("baseline list: takes one NAME at most")
        _list(args.name, data)
        return
    if not args.name:
        raise CommandLine(f"baseline {args.action}: names no baseline")
    if args.action == "add":
        if not args.result:
            raise CommandLine(f"baseline add {args.name}: names no result")
        _add(args.name, [result(text) for text in args.result], data)
    else:
        _remove(args.name, args.result, data)


def sessions(name):
    """The directories of the sessions of baseline NAME, in order of their names."""
    found = _sessions(_place(name))
    if not found:
        known = [path.name for path in _all()]
        raise Refused(f"baseline {name}: not found" + (f"; there are {units.listed(known)}" if known else f", and no other in {_home()}"))
    return found


def check_new(name, before, after):
    """Refuse results AFTER that are among the sessions BEFORE of baseline NAME: they would be compared with themselves."""
    known = {_moment(each) for each in before}
    for each in after:
        if _moment(each) in known:
            raise Refused(f"{each.place}: is a session of baseline {name} already")


def _home():
    return paths.results() / "baselines"


def _place(name):
    if not _NAME.fullmatch(name):
        raise CommandLine(f"baseline {name}: a name has letters, digits and . _ + -, 64 at most, and begins with a letter or digit")
    return _home() / name


def _all():
    return sorted(path for path in _home().glob("*") if _sessions(path))


def _sessions(place):
    return sorted(path for path in place.glob("*") if store.holds_result(path))


def _moment(stored):
    """What tells one session from all others."""
    return stored.header["started"], stored.header["study"]["name"], system.fingerprint(stored.header["host"])


def _told(stored):
    host = stored.header["host"]
    return {"session": stored.place.name, "study": stored.header["study"]["name"], "started": stored.header["started"], "host": system.fingerprint(host),
            "commit": host.get("fio-dataplane", "")}


def _add(name, results, data):
    place = _place(name)
    there = [store.load(path) for path in _sessions(place)]
    for result in results:
        new = store.load(result)
        known = {_moment(each) for each in there}
        if _moment(new) in known:
            raise Refused(f"{result}: is a session of baseline {name} already")
        if there and new.header["study"]["name"] != there[0].header["study"]["name"]:
            raise Refused(f"{result}: is of {new.header['study']['name']}, but baseline {name} has sessions of {there[0].header['study']['name']}")
        session = files.new_directory(place, new.header["study"]["name"])
        try:
            new.place = session
            store.write(new)
        except BaseException:
            shutil.rmtree(session)
            raise
        there.append(new)
        data.setdefault(name, []).append(_told(new))
        print(f"{name}: {session.name} added, {units.counted(len(there), 'session')}")


def _list(name, data):
    for path in [_place(name)] if name else _all():
        found = [store.load(each) for each in (sessions(name) if name else _sessions(path))]
        data[path.name] = [_told(each) for each in found]
        if not name:
            print(f"{path.name}: {units.counted(len(found), 'session')} of {found[0].header['study']['name']}")
            continue
        for each in data[path.name]:
            print(f"{each['session']}  {each['started']}  host {each['host']}  {each['commit'] or 'no commit'}")


def _remove(name, which, data):
    place = _place(name)
    known = {path.name: path for path in sessions(name)}
    for session in which:
        if session not in known:
            raise Refused(f"baseline {name}: session not found: {session}; there are {units.listed(known)}")
    data[name] = [{"session": session} for session in which or known]
    for path in [known[session] for session in which] or [place]:
        shutil.rmtree(path)
        print(f"{name}: {f'{path.name} ' if which else ''}removed")
