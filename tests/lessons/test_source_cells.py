"""The cells of the third source document, run as they were printed: what today's JAX makes of each of them."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/data/source_003.toml"
CELLS = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["cell"]

RUN = """
import ast, contextlib, io, json, sys, tomllib
from minipod import devices
devices.simulate(8)
seen, names = [], {}
for cell in tomllib.load(open(sys.argv[1], "rb"))["cell"]:
    tree, out = ast.parse(cell["code"]), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(tree, "cell", "exec"), names)
            value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(repr(value))
        seen.append(["", out.getvalue()])
    except Exception as error:
        seen.append([type(error).__name__, str(error)])
json.dump(seen, sys.stdout)
"""


@pytest.fixture(scope="module")
def seen():
    """Per cell: the type of the error or "", and what was shown or said."""
    command = [sys.executable, "-W", "ignore", "-c", RUN, str(SOURCE)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_all_cells_are_here():
    assert len(CELLS) == 18
    assert sum(cell["today"].endswith("Error") for cell in CELLS) == 8


def test_each_cell_does_today_what_is_stated(seen):
    for cell, (error, text) in zip(CELLS, seen, strict=True):
        today = cell["today"]
        assert error == ("" if today in ("same", "other") else today), cell
        if today == "other":
            assert cell["prints"] not in text and cell["shows"] in text, cell
        else:
            assert cell.get("prints" if today == "same" else "words", "") in text, cell
