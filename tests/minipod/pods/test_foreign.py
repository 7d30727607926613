"""What JAX compiles, `minipod plan` plans: programs as people write them in `foreign/`, each with something special."""

import ast
import json
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from minipod.__main__ import main
from minipod.pods import compiler

FOREIGN = Path(__file__).parent / "foreign"
FILES = {name: ast.parse((FOREIGN / f"{name}.py").read_text()).body for name in ("plain", "third_party", "wide")}
PROGRAMS = [
    f"{file}.py:{each.name}"
    for file, body in FILES.items()
    for each in body
    if isinstance(each, ast.FunctionDef) and [argument.arg for argument in each.args.args] == ["mesh"]
]
QUICK = "plain.py:refs_as_arguments"


@pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
@pytest.mark.parametrize("program", [pytest.param(p, marks=[pytest.mark.long] * (p != QUICK)) for p in PROGRAMS])
def test_what_jax_compiles_is_planned(program, tmp_path, monkeypatch, capsys):
    if program.startswith("third_party.py") and not all(map(util.find_spec, ("flax", "equinox", "optax"))):
        pytest.skip("not installed: pip install flax equinox optax")
    direct = [sys.executable, FOREIGN / "direct.py", program]
    of_jax = json.loads(subprocess.run(direct, capture_output=True, text=True, timeout=900, check=True).stdout)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is kept from another time
    command = ["plan", f"{FOREIGN}/{program}", "--on", "v5e:2x2", "--mesh", "data=2,model=2", "--json"]
    code, (out, err) = main(command), capsys.readouterr()
    if code:
        assert code == 2 and err.startswith("minipod: ") and err.count("\n") == 1 and not err.rstrip().endswith(":")
    plan = {} if code else json.loads(out)
    if of_jax["ok"]:
        assert code == 0 and plan["fits"] is True, err
        assert plan["memory"]["arguments"] == of_jax["memory"]["argument"]
    elif "HbmOom" in of_jax["error"]:
        assert plan["fits"] is False
    elif (
        "vmem" in of_jax["error"].lower()
    ):  # a kernel's fast memory: nothing that a larger chip or other axes would mend
        assert "vmem" in (out + err).lower() and plan.get("fits") is not False
