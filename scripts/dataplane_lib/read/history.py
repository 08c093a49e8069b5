# SPDX-License-Identifier: GPL-2.0-only
"""Figures of many nights in one file (SQLite): a row a result, a row for each arm and metric of it.

A result goes in in one transaction or not at all, so whoever is killed leaves nothing half; several that write at once wait for each other. The same result is there once.
"""

import math
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from ..host import system
from ..stats import limits
from ..errors import NotMeasured, Refused

VERSION = 2
# Others may be writing, each for an instant.
_PATIENCE_S = 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, date TEXT NOT NULL, "commit" TEXT NOT NULL, study TEXT NOT NULL,
                                    host TEXT NOT NULL, fio TEXT NOT NULL, rtt_ns REAL, against TEXT NOT NULL DEFAULT '', gate INTEGER);
CREATE TABLE IF NOT EXISTS figures (result INTEGER NOT NULL REFERENCES results (id), arm TEXT NOT NULL, metric TEXT NOT NULL, median REAL NOT NULL,
                                    low REAL, high REAL, n INTEGER NOT NULL, ratio REAL, PRIMARY KEY (result, arm, metric));
"""
# From version 1: the commit of arm A, and the exit status of --fail-if.
_UPGRADE = """
ALTER TABLE results ADD COLUMN against TEXT NOT NULL DEFAULT '';
ALTER TABLE results ADD COLUMN gate INTEGER;
"""
_COLUMNS = ("name", "date", "commit", "study", "host", "fio", "rtt_ns", "against", "gate")


@contextmanager
def opened(path, write=False):
    """A connection to the store in the file PATH, which is made where it is to be WRITTEN to."""
    path = Path(path)
    if not write and not path.is_file():
        raise Refused(f"{path}: no such store")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as db:
            db.execute("PRAGMA foreign_keys = ON")
            if write or _version(db) == 1:
                db.execute("BEGIN IMMEDIATE")
            found = _version(db)
            if found == 0 and write and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                _change(db, _SCHEMA)
            elif found == 1:
                _change(db, _UPGRADE)
            elif found != VERSION:
                raise NotMeasured(f"{path}: not a store of this dataplane (version {found}, {VERSION} is what is known here)")
            if db.in_transaction and not write:
                db.execute("COMMIT")
            yield db
            if write:
                db.execute("COMMIT")
    except sqlite3.Error as err:
        raise NotMeasured(f"{path}: {err}") from None
    except OSError as err:
        raise NotMeasured(f"{path}: {err.strerror}") from None


def _version(db):
    return db.execute("PRAGMA user_version").fetchone()[0]


def _change(db, statements):
    for statement in statements.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")


def keep(path, found, name):
    """Put FOUND, a digest with its gate, of the result NAME into the store PATH; False where it was there."""
    host, commits = found["host"], found.get("ab", {}).get("commits") or {}
    own = host.get("fio-dataplane", "")
    about = {"name": f"{name} {found['started']}", "date": found["started"], "commit": commits.get("B") or own, "study": found["study"]["name"],
             "host": system.fingerprint(host), "fio": host.get("fio", ""), "rtt_ns": found["rtt_ns"], "against": commits.get("A") or "",
             "gate": found["gate"]["status"] if "gate" in found else None}
    figures = []
    for arm in found["arms"]:
        for key, entry in arm["metrics"].items():
            values = [run["metrics"][key] for run in found["runs"] if run["arm"] == arm["name"] and run["metrics"].get(key) is not None]
            held = limits.itself(limits.Limit(key, 1, math.inf, False), values, limits.each_level(0.95, 1))
            low, high = (held.low, held.high) if len(values) > 1 else (None, None)
            ratio = arm["change"].get(key) if arm["name"] != arm["against"] else None
            figures.append((arm["name"], key, entry["value"], low, high, len(values), ratio))
    return append(path, about, figures)


def short(commit):
    """COMMIT, as git describe calls it, in 12 characters: the hash where there is one, which tells two commits apart."""
    name, _, number = commit.rpartition("-g")
    return (number if name else commit)[:12]


def append(path, about, figures):
    """Put a result in: ABOUT has the columns of results, FIGURES are (arm, metric, median, low, high, n, ratio). False where it is there already."""
    with opened(path, True) as db:
        names = ", ".join(f'"{name}"' for name in _COLUMNS)
        done = db.execute(f"INSERT OR IGNORE INTO results ({names}) VALUES ({', '.join('?' * len(_COLUMNS))})", [about.get(c, "" if c == "against" else None) for c in _COLUMNS])
        if not done.rowcount:
            return False
        db.executemany("INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(done.lastrowid, *row) for row in figures])
        return True


def good(path, study, host):
    """The commits of STUDY on HOST whose gate passed nothing, the newest first; [] also where there is no store."""
    if not Path(path).is_file():
        return []
    with opened(path) as db:
        rows = db.execute('SELECT "commit" FROM results WHERE study = ? AND host = ? AND gate = 0 AND "commit" != \'\' ORDER BY date DESC, id DESC', (study, host))
        return list(dict.fromkeys(row[0] for row in rows))


def series(path, metric=None, study=None):
    """{(study, arm, host, metric): [{date, commit, against, median, low, high, n, ratio, fio, rtt_ns, gate}]}, each in the order of its dates."""
    out = {}
    with opened(path) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute('SELECT r.*, f.* FROM results r JOIN figures f ON f.result = r.id WHERE (?1 IS NULL OR f.metric = ?1) AND (?2 IS NULL OR r.study = ?2) ORDER BY r.date, r.id',
                          (metric, study))
        for row in rows:
            out.setdefault((row["study"], row["arm"], row["host"], row["metric"]), []).append(
                {k: row[k] for k in ("date", "commit", "against", "median", "low", "high", "n", "ratio", "fio", "rtt_ns", "gate")})
    return out
