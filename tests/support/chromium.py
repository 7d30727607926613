"""A headless Chromium over its debugging pipe (Chrome DevTools Protocol): no driver, no port, no package.

The protocol: https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON, each ended by a zero byte.
"""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from minipod.processes import kill_group

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
).split()
CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str | None:
    """The path of a Chromium on this machine, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a new Chromium with an empty profile. `requests` and `errors` collect what the page did."""

    def __init__(self, limit: float = 60.0):
        self.limit, self.requests, self.errors = limit, [], []
        self._ids, self._left, self._events = itertools.count(1), b"", []
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        high_in, high_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out))
        # Chromium reads from 3 and writes to 4, and ends when they are closed. A small program puts them there: a
        # function run before exec would need a plain fork, which a process with JAX in it must not do.
        place = f"import os, sys; os.dup2({high_in}, 3); os.dup2({high_out}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        browser = [executable() or "chromium", *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", place, *browser],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(high_in, high_out),
            start_new_session=True,
        )
        for fd in (theirs_in, theirs_out, high_in, high_out):
            os.close(fd)
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        kill_group(self._process.pid)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def call(self, method: str, **parameters) -> dict:
        """One protocol command and its result. RuntimeError when Chromium refuses it or does not answer in time."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self) -> dict:
        end = time.monotonic() + self.limit
        while b"\0" not in self._left:
            if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"Chromium did not answer within {self.limit:.0f} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium has ended")
            self._left += chunk
        raw, self._left = self._left.split(b"\0", 1)
        message = json.loads(raw)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, found: dict) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = found["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and found["entry"]["level"] == "error":
            self.errors.append(f"{found['entry']['text']} {found['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and found["type"] == "error":
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in found["args"]))
        self._events.append(method)

    def open(self, url: str) -> None:
        """Load a page and wait until it, and its scripts, are there."""
        self._events.clear()
        self.run("window.left = true")  # on the page before, which may answer for a moment longer
        if "loaderId" not in self.call("Page.navigate", url=url):  # the same page, another #fragment
            self.run("window.left = false")
        self.wait_for("!window.left && document.readyState === 'complete'")

    def run(self, script: str):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 120.0) -> None:
        """Until a JavaScript expression is true. TimeoutError with the expression if it does not become so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.run(condition):
                    return
            except RuntimeError as error:  # between two pages there is no context
                if "ended" in str(error):
                    raise
            time.sleep(0.05)
        raise TimeoutError(f"never true: {condition}")

    def press(self, *keys: str) -> None:
        """Press and release keys, as a keyboard does: names such as ArrowRight and Tab, or text to type."""
        for key in keys:
            known = {"key": key, "windowsVirtualKeyCode": CODES.get(key, 0)}
            if key not in CODES or key == " ":
                known["text"] = key
            if key == "Enter":
                known["text"] = "\r"
            self.call("Input.dispatchKeyEvent", type="keyDown", **known)
            self.call(
                "Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=known["windowsVirtualKeyCode"]
            )

    def click(self, selector: str, across: float = 0.5, times: int = 1) -> None:
        """Press and release the mouse on an element that is in sight, this far across it; twice or three times."""
        place = "(r => [r.x, r.y, r.width, r.height])"
        x, y, width, height = self.run(
            f"{place}(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        at = {"x": x + width * across, "y": y + height / 2, "button": "left"}
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, clickCount=count, **at)

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Be a screen of this size that prefers light or dark pages."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """A PNG of what is visible, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))
