"""JavaScript without a page, in Node."""

import json
import shutil
import subprocess

import pytest


def value(script: str, expression: str):
    """What a JavaScript expression gives after a script, as JSON can say it. Skips the test without Node."""
    return _in_node(f"const window = {{}};\n{script}\nprocess.stdout.write(JSON.stringify({expression}))")


def in_node(before: str, function: str, given: list) -> list:
    """A function of each thing that is given, after some lines, which may `require`. Skips the test without Node."""
    return _in_node(f"{before}\nprocess.stdout.write(JSON.stringify({json.dumps(given)}.map({function})))")


def _in_node(program: str):
    if not shutil.which("node"):
        pytest.skip("there is no Node.js on this machine")
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
