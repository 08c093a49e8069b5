# SPDX-License-Identifier: GPL-2.0-only
"""ab --against: a build of an earlier commit of this project, named or the last good one that the history knows."""

import fcntl
import os
import shutil
import sys
import time

from .. import paths
from . import bisection
from ..host import system
from ..errors import CommandLine, NotMeasured, Refused

LAST_GOOD = "last-good"
# Builds that nobody has asked for since then are removed.
_KEPT_S = 14 * 24 * 3600


def build(names, store, study):
    """(what git calls the commit, its work tree, built): the first of NAMES, such as "last-good,v1.0", that there is.

    STORE is the history that knows the good commits of STUDY, or None.
    """
    if not paths.in_tree():
        raise Refused("--against: needs a git work tree of this project, which these scripts are not in; --a build=DIR takes a build")
    repository = bisection.Repository(paths.HOME, paths.results() / "against")
    told, commit = _first(repository, names, store, study)
    repository.place.mkdir(parents=True, exist_ok=True)
    with open(repository.place / "lock", "wb") as lock:
        # Two that want the same commit must not build it at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_old(repository, commit)
        print(f"dataplane: arm A is {repository.told(commit)}", file=sys.stderr, flush=True)
        tree = repository.tree(commit, f"make -j{os.cpu_count() or 1} all")
        os.utime(repository.place / "built" / commit)
    return told, tree


def _first(repository, names, store, study):
    """(its name, the full one) of the first commit of NAMES that there is."""
    missing = []
    for name in names.split(","):
        for each in _good(repository, store, study) if name == LAST_GOOD else [name]:
            try:
                return (each if name == LAST_GOOD else repository.git("describe", "--always", each)), repository.commit(each)
            except Refused:
                missing.append(f"{each}: no commit of {paths.HOME}" + (" (a shallow clone)" if (paths.HOME / ".git/shallow").exists() else ""))
        if name == LAST_GOOD and not missing:
            missing.append(f"no good commit of {study} on this host in {store or 'a history'}: name one for the first night, such as {LAST_GOOD},v1.0")
        if not name:
            raise CommandLine(f"--against '{names}': an empty name; expected commits, or {LAST_GOOD}")
    raise Refused(f"--against {names}: {'; '.join(missing)}")


def _good(repository, store, study):
    """The good commits that this one came from, the newest first; a tree with changes of its own is none."""
    from ..read import history
    try:
        found = history.good(store, study, system.fingerprint(system.facts())) if store else []
    except NotMeasured as err:
        raise NotMeasured(f"--against {LAST_GOOD}: {err}") from None
    return [commit for commit in found if not commit.endswith("-dirty") and repository.is_ancestor(commit, "HEAD")]


def _remove_old(repository, wanted):
    """Remove builds of commits other than WANTED that have not been asked for in a while."""
    for mark in (repository.place / "built").glob("*"):
        if mark.name != wanted and time.time() - mark.stat().st_mtime > _KEPT_S:
            mark.unlink()
            try:
                repository.git("worktree", "remove", "--force", str(repository.place / "trees" / mark.name))
            except Refused:
                shutil.rmtree(repository.place / "trees" / mark.name, ignore_errors=True)
