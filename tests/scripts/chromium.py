# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium, driven through the pipe of its DevTools protocol: no test itself."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def program():
    """Its path, or None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One page of one browser; PROBLEMS collects what its console had to complain about."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()
        # It reads commands from descriptor 3 and writes to 4; both ends may have those numbers here.
        read, write = (os.dup2(fd, 100 + i) for i, fd in enumerate((theirs[0], ours[1])))
        for fd in (theirs[0], ours[1]):
            os.close(fd)
        # bash knows descriptors of more than one digit, dash does not.
        command = ["bash", "-c", 'exec "$0" "$@" 3<&100 4>&101', program(), "--headless=new", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={self.profile.name}",
                   "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in (read, write):
            os.close(fd)
        self._in, self._out = ours[0], theirs[1]
        self._buffer, self._number, self.problems, self._events = b"", 0, [], []
        targets = self._call("Target.getTargets", session=None)["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self._call("Target.attachToTarget", session=None, targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("Browser.close", session=None)
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired, TimeoutError):
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self._in)
        os.close(self._out)
        self.profile.cleanup()

    def _call(self, method, session="", **params):
        """One command; its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session == "":
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        limit = time.monotonic() + 60
        while True:
            answer = self._next(limit, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._event(answer)

    def _next(self, limit, what):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0, limit - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer to {what}")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise OSError(f"Chromium ended during {what}")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _event(self, event):
        name, params = event["method"], event["params"]
        self._events.append(name)
        if name == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif name == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif name == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
            self.problems.append(f"asks the network for {params['request']['url']}")

    def look(self, width, height, scheme="light", media=""):
        """The size of the window, light or dark, screen or print."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self._call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        """Load the file at PATH, and wait until it has."""
        self._events.clear()
        self._call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        limit = time.monotonic() + 60
        while "Page.loadEventFired" not in self._events:
            self._event(self._next(limit, "load"))

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def key(self, name):
        """Press and let go a key."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def move(self, x, y):
        """The pointer to a place of the window."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=True, clip=None):
        """A PNG of the page, all of it if WHOLE, or of what CLIP says."""
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole, **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        """Print the page into a file."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]))
