# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's monitor (QMP, its docs/interop/qmp-spec.txt): a line of JSON there, one back."""

import json
import socket

from .errors import Failed

_SECONDS = 30


class Monitor:
    """A connection to the unix socket PATH, on which a QEMU listens; close it with `with`."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(_SECONDS)
            self._socket.connect(path)
            self._file = self._socket.makefile("rwb")
            self._receive()
            self.ask("qmp_capabilities")
        except OSError as err:
            self._socket.close()
            raise Failed(f"QEMU's monitor: {err}") from None
        except Failed:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def ask(self, command):
        """What QEMU returns to COMMAND; Failed if it refuses."""
        try:
            self._file.write(json.dumps({"execute": command}).encode() + b"\n")
            self._file.flush()
            while True:
                answer = self._receive()
                if "error" in answer:
                    raise Failed(f"QEMU's monitor: {command}: {answer['error'].get('desc', answer['error'])}")
                # Between question and answer there may be events.
                if "return" in answer:
                    return answer["return"]
        except OSError as err:
            raise Failed(f"QEMU's monitor: {command}: {err}") from None

    def _receive(self):
        line = self._file.readline()
        try:
            return json.loads(line)
        except ValueError:
            raise Failed("QEMU's monitor: " + ("says no JSON" if line else "QEMU is gone")) from None
