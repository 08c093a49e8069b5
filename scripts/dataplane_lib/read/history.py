# SPDX-License-Identifier: GPL-2.0-only
"""Figures of many nights in one file (SQLite): a row a result, a row for each arm and metric of it.

A result goes in in one transaction or not at all, so whoever is killed leaves nothing half; several that write at once wait for each other. The same result is there once.
"""

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from ..errors import NotMeasured, Refused

VERSION = 1
# Others may be writing, each for an instant.
_PATIENCE_S = 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, date TEXT NOT NULL, "commit" TEXT NOT NULL, study TEXT NOT NULL,
                                    host TEXT NOT NULL, fio TEXT NOT NULL, rtt_ns REAL);
CREATE TABLE IF NOT EXISTS figures (result INTEGER NOT NULL REFERENCES results (id), arm TEXT NOT NULL, metric TEXT NOT NULL, median REAL NOT NULL,
                                    low REAL, high REAL, n INTEGER NOT NULL, ratio REAL, PRIMARY KEY (result, arm, metric));
"""


@contextmanager
def opened(path, write=False):
    """A connection to the store in the file PATH, which is made where it is to be WRITTEN to."""
    path = Path(path)
    if not write and not path.is_file():
        raise Refused(f"{path}: no such store")
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as db:
            db.execute("PRAGMA foreign_keys = ON")
            if write:
                db.execute("BEGIN IMMEDIATE")
            found = db.execute("PRAGMA user_version").fetchone()[0]
            if found == 0 and write and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
            elif found != VERSION:
                raise NotMeasured(f"{path}: not a store of this dataplane (version {found}, {VERSION} is what is known here)")
            yield db
            if write:
                db.execute("COMMIT")
    except sqlite3.Error as err:
        raise NotMeasured(f"{path}: {err}") from None


def append(path, about, figures):
    """Put a result in: ABOUT has the columns of results, FIGURES are (arm, metric, median, low, high, n, ratio). False where it is there already."""
    with opened(path, True) as db:
        columns = ("name", "date", "commit", "study", "host", "fio", "rtt_ns")
        done = db.execute('INSERT OR IGNORE INTO results (name, date, "commit", study, host, fio, rtt_ns) VALUES (?, ?, ?, ?, ?, ?, ?)', [about[c] for c in columns])
        if not done.rowcount:
            return False
        db.executemany("INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(done.lastrowid, *row) for row in figures])
        return True


def series(path, metric=None, study=None):
    """{(study, arm, host, metric): [{date, commit, median, low, high, n, ratio, fio, rtt_ns}]}, each in the order of its dates."""
    out = {}
    with opened(path) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute('SELECT r.*, f.* FROM results r JOIN figures f ON f.result = r.id WHERE (?1 IS NULL OR f.metric = ?1) AND (?2 IS NULL OR r.study = ?2) ORDER BY r.date, r.id',
                          (metric, study))
        for row in rows:
            out.setdefault((row["study"], row["arm"], row["host"], row["metric"]), []).append(
                {k: row[k] for k in ("date", "commit", "median", "low", "high", "n", "ratio", "fio", "rtt_ns")})
    return out
