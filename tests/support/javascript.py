"""JavaScript without a page: in Node where there is one, otherwise in a headless Chromium."""

import json
import shutil
import subprocess

import chromium
import pytest


def run_node(program: str, given: str = "") -> object:
    """What a program for Node prints, as JSON. Skips the test where there is no Node."""
    if not (node := shutil.which("node")):
        pytest.skip("there is no Node.js on this machine")
    done = subprocess.run([node, "-e", program], input=given, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_node(before: str, function: str, given: list) -> list:
    """A function of each thing that is given, after some lines."""
    read = "JSON.parse(require('fs').readFileSync(0, 'utf8'))"
    return run_node(f"{before}\nconsole.log(JSON.stringify({read}.map({function})))", json.dumps(given))


def value(script: str, expression: str):
    """What a JavaScript expression gives after a script, as JSON can say it. Skips the test where nothing runs it."""
    if node := shutil.which("node"):
        code = f"const window = {{}};\n{script}\nprocess.stdout.write(JSON.stringify({expression}))"
        done = subprocess.run([node, "-"], input=code, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    if chromium.executable() is None:
        pytest.skip("neither Node nor Chromium is on this machine")
    with chromium.Browser() as browser:
        return browser.run(f"(() => {{ {script}\nreturn {expression} }})()")
