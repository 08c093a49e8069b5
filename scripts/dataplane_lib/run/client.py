# SPDX-License-Identifier: GPL-2.0-only
"""The job on other machines, through fio's own client and server: --client HOST,…

Each server runs the whole job. What a job file's ${names} stand for is known here only, so they are filled in before the
text is sent; lines about files that would be written there, and about CPUs, which are this machine's, are left out.
"""

import re
import socket

from ..model import jobfile
from ..read import fiojson
from ..errors import NotMeasured, Refused, RunFailed

# Options that mean nothing on another machine: the files they name are wanted here, the CPUs are numbered as here.
_HERE = {"dp_stats", "dp_trace", "iops_log", "sample_ms", "fio_cpus"}
_WITH_LOGS = {"log_unix_epoch"}
# fio's own, where none is given.
_PORT = 8765
_PATIENCE_S = 5
# Less of a CPU (share of the busiest sample) than this is no work any more.
_IDLE = 0.25


def parse(text):
    """What fio calls each server of TEXT: HOST, HOST:PORT, [IPV6]:PORT or sock:PATH, with commas between."""
    out = []
    for word in text.split(","):
        match = re.fullmatch(r"(?:\[(?P<six>[0-9a-fA-F:]+)\]|(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*))(?::(?P<port>[0-9]{1,5}))?", word)
        if word.startswith("sock:/"):
            out.append(word)
        elif match:
            port = f",{match['port']}" if match["port"] else ""
            out.append(f"ip6:{match['six']}{port}" if match["six"] else f"ip:{match['host']}{port}")
        else:
            raise Refused(f"--client {text}: '{word}': expected HOST, HOST:PORT, [IPV6]:PORT or sock:/PATH, with commas between")
        if match and int(match["port"] or _PORT) not in range(1, 65536):
            raise Refused(f"--client {text}: '{word}': expected a port from 1 to 65535")
    if len(set(out)) < len(out):
        raise Refused(f"--client {text}: names a server twice")
    return out


def reach(clients):
    """Refuse CLIENTS, as parse() calls them, of which one does not answer."""
    for name in clients:
        kind, _, place = name.partition(":")
        host, _, port = place.partition(",")
        try:
            if kind == "sock":
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.settimeout(_PATIENCE_S)
                    probe.connect(place)
            else:
                socket.create_connection((host, int(port or _PORT)), _PATIENCE_S).close()
        except OSError as err:
            raise NotMeasured(f"--client: no fio server answers at {place.replace(',', ':')}: {err.strerror or err}") from None


def rewritten(job, variables):
    """The text of JOB, a JobFile, as it is sent: one file, VARIABLES filled in, the lines about this machine left out."""
    sent = jobfile.JobFile(job.path, [(s, o) for s, o in job.lines if not (o and (o.names & _HERE or o.name in _WITH_LOGS))])
    return sent.filled(variables).text


def arguments(clients, job):
    """fio's arguments that hand the file JOB to each of CLIENTS."""
    return [word for name in clients for word in (f"--client={name}", str(job))]


def check(doc, clients):
    """RunFailed unless each of CLIENTS gave a result."""
    told = {(j.get("hostname"), str(j.get("port"))) for j in doc["client_stats"] if j.get("jobname") != fiojson.TOTAL}
    if len(told) < len(clients):
        found = ", ".join(f"{host},{port}" for host, port in sorted(told)) or "none"
        raise RunFailed(f"{len(told)} of {len(clients)} fio servers gave a result: {found}")


def ended(samples):
    """When the work was over, in the samples' time, by the CPU that the target used; None if nothing was sampled.

    fio's client tells only the second in which it began, and goes on for a while when the jobs are done.
    """
    used = [(b["t"], sum(t[1] - a["threads"].get(tid, t)[1] for tid, t in b["threads"].items()) / (b["t"] - a["t"]))
            for a, b in zip(samples, samples[1:]) if b["t"] > a["t"]]
    most = max((share for _, share in used), default=0)
    return max((t for t, share in used if share >= _IDLE * most), default=None) if most else None


def check_study(chosen):
    """Refuse what cannot be measured of jobs on other hosts."""
    if any(chosen.setup(arm).server.guest() for arm in chosen.arms()):
        raise Refused("--client: the job of a guest runs in the guest")
    if any(not jobfile.variables_of(job) & {"uri", "socket"} for job in chosen.jobs()):
        raise Refused(f"--client: {chosen.job} uses neither ${{socket}} nor ${{uri}}: the servers would have no target to connect to")
