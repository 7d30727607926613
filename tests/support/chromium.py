"""A headless Chromium over its debugging pipe (Chrome DevTools Protocol): no driver, no port, no package.

The protocol: https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON, each ended by a zero byte. The
package playwright would be 164 MB, of which Node.js is 144.
"""

import itertools
import json
import os
import select
import subprocess
import tempfile
import time

from minipod.processes import kill_group
from publish.print.paper import executable

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
).split()
CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
LIMIT = 600.0  # seconds: it hangs


class Browser:
    """One page of a new Chromium with an empty profile. `requests` and `errors` collect what the page did."""

    def __init__(self):
        self.requests, self.errors = [], []
        self._ids, self._left, self._session = itertools.count(1), b"", ""
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        # It reads from 3 and writes to 4, and ends when they are closed.
        place = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh", executable() or "chromium"]
        command = [*place, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, start_new_session=True, **pipes)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        kill_group(self._process.pid)
        self._process.communicate()
        self._profile.cleanup()

    def renew(self) -> None:
        """As it was when it started: no page, no setting, nothing that a page from disk has stored, nothing noted."""
        self.call("Emulation.setScriptExecutionDisabled", value=False)
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        self.call("Network.setBlockedURLs", urls=[])
        self.open("about:blank")
        self.call("Storage.clearDataForOrigin", origin="file://", storageTypes="all")
        self.errors.clear(), self.requests.clear()

    def call(self, method: str, **parameters) -> dict:
        """One protocol command and its result. RuntimeError when Chromium refuses it or does not answer in time."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        while (answer := self._read()).get("id") != number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _read(self) -> dict:
        pipe, end = self._process.stdout.fileno(), time.monotonic() + LIMIT
        while b"\0" not in self._left:
            if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"Chromium did not answer within {LIMIT:.0f} s")
            if not (chunk := os.read(pipe, 1 << 20)):
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

    def open(self, url: str) -> None:
        """Load a page and wait until it, and its scripts, are there."""
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

    def wait_for(self, condition: str) -> None:
        """Until a JavaScript expression is true. TimeoutError with the expression if it does not become so."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                if self.run(condition):
                    return
            except RuntimeError as error:  # between two pages there is no context
                if "ended" in str(error):
                    raise
            time.sleep(0.02)
        raise TimeoutError(f"never true: {condition}")

    def press(self, *keys: str) -> None:
        """Press and release keys, as a keyboard does: names such as ArrowRight and Tab, or text to type."""
        for key in keys:
            known = {"key": key, "windowsVirtualKeyCode": CODES.get(key, 0)}
            text = {"Enter": "\r"}.get(key, key if key not in CODES or key == " " else "")
            self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def click(self, selector: str, across: float = 0.5, times: int = 1) -> None:
        """Press and release the mouse on an element that is in sight, this far across it; twice or three times."""
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y, width, height = self.run(f"(r => [r.x, r.y, r.width, r.height])({box})")
        at = {"x": x + width * across, "y": y + height / 2, "button": "left"}
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, clickCount=count, **at)

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Be a screen of this size that prefers light or dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
