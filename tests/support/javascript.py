"""JavaScript without a page: in Node where there is one, otherwise in a headless Chromium."""

import json
import shutil
import subprocess

import chromium
import pytest

WHY = "neither Node nor Chromium is on this machine"


def value(script: str, expression: str):
    """What a JavaScript expression gives after a script, as JSON can say it. Skips the test where nothing runs it."""
    if node := shutil.which("node"):
        code = f"const window = {{}};\n{script}\nprocess.stdout.write(JSON.stringify({expression}))"
        done = subprocess.run([node, "-"], input=code, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    if chromium.executable() is None:
        pytest.skip(WHY)
    with chromium.Browser() as browser:
        return browser.run(f"(() => {{ {script}\nreturn {expression} }})()")
