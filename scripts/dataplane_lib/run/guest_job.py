# SPDX-License-Identifier: GPL-2.0-only
"""A job file as it runs in a guest: on the guest's disk, through an engine of fio's own."""

from .. import paths
from ..model.fio_options import options_of
from ..model.jobfile import JobFile

DISK = "/dev/vda"
# What a job that names none of fio's own engines gets.
_USUAL_ENGINE = "libaio"
# What these stand for is on the host.
_HOSTS = {"socket", "uri", "port", "file", "dp_stats", "dp_trace", "fio_cpus", "FIO_DATAPLANE"}
_SET_HERE = {"ioengine", "filename", "direct"}


def rewritten(job, variables, engine=""):
    """The text of JOB, a JobFile, for the guest.

    VARIABLES are the values of its ${names}. ENGINE replaces the job's own, whose private options are left
    out then; a job for an engine of this project, or for several, gets libaio without one. Lines about what only the host has go too.
    """
    own = {section.get("ioengine", "") for section in job.filled(variables).sections}
    if not engine:
        engine = next(iter(own)) if len(own) == 1 and not any(map(_is_file, own)) else ""
        engine = engine or _USUAL_ENGINE
    dropped = set(_SET_HERE)
    for other in own - {engine}:
        dropped |= options_of(other.replace("${FIO_DATAPLANE}", str(paths.dataplane_dir()))) - options_of(engine)
    kept = JobFile(job.path, [(s, o) for s, o in job.lines if not (o and (o.name in dropped or o.names & _HOSTS))])
    return kept.filled(variables).edited(top=[f"ioengine={engine}", "direct=1", f"filename={DISK}"]).text


def _is_file(engine):
    return "/" in engine or engine.startswith("external:")
