"""The explorer's JavaScript says what live JAX says: blocks, bytes, copies, refusals, and what is sent."""

import json
import random
import re
import subprocess
import sys

import javascript
import pytest

from minipod.drawing.svg import PALETTE
from publish.page import ROOT

SCRIPT = ROOT / "book" / "_static" / "explorer.js"


def in_node(expression: str, given: list) -> list:
    """`expression` of each `it` of what is given; `e` has what explorer.js exports."""
    return javascript.in_node(f"const e = require({json.dumps(str(SCRIPT))});", f"it => ({expression})", given)


def state(draw: random.Random) -> dict:
    """A state that a reader may choose; about one in eight is refused."""
    mesh = draw.choice([[2], [4], [8], [3], [16], [2, 4], [4, 2], [2, 2], [3, 4], [1, 8], [4, 4], [2, 2, 2], [2, 1, 4]])

    def entries(count):
        found = [""] * count
        for axis in draw.sample("xyz"[: len(mesh)], len(mesh)):
            if draw.random() < 0.6:
                found[draw.randrange(count)] += axis
        if draw.random() < 0.06:
            found[draw.randrange(count)] = "x"
        return [entry or "-" for entry in found]

    do = draw.choice(["look", "reshard", "reshard", "sum", "matmul"])
    rank = 2 if do == "matmul" else draw.choice([1, 2, 2, 3])
    sizes = [draw.choice([48, 48, 96, 48, 96, 20]) for _ in range(rank)]
    it: dict = {"array": sizes, "mesh": mesh, "spec": entries(rank), "do": do}
    if do == "reshard":
        it["to"] = entries(rank)
        if draw.random() < 0.5:  # few changes at random are ones that we predict
            it["to"] = [e if i else "-" for i, e in enumerate(it["spec"])]
        elif draw.random() < 0.5:
            it["to"] = it["spec"][1:] + it["spec"][:1]
    if do == "sum":
        it["dim"] = draw.randrange(rank)
    if do == "matmul":
        it["second"] = entries(2)
        if draw.random() < 0.7:
            it["second"][0] = it["spec"][1]
        it["columns"] = 48
    return it


def agree(us: dict, jax: dict) -> bool:
    if "error" in us or "error" in jax and us:
        if not ("error" in us and "error" in jax):
            return False
        words = re.sub(r"(factors: )\(([\d, ]+?),?\)", r"\1[\2]", jax["error"])  # JAX 0.12 has a tuple there
        return words.endswith(us["error"])
    return all(jax[name] == value for name, value in us.items() if name != "parts")


@pytest.mark.parametrize("count, seed", [(24, 1), pytest.param(200, 2026, marks=pytest.mark.long)])
def test_explorer_says_what_jax_says(count, seed):
    draw = random.Random(seed)
    states = [state(draw) for _ in range(count)]
    # Results that would be cut twice along one axis, refused before anything is multiplied.
    whole = {"array": [16, 16], "mesh": [2], "spec": ["x", "-"], "do": "matmul", "second": ["-", "x"], "columns": 16}
    states += [whole, {**whole, "mesh": [2, 2], "spec": ["x", "y"]}]
    after = "e.arrays(it).after.map(a => ({shape: a.shape, blocks: e.layout(a.shape, it.mesh, a.spec).blocks}))"
    ours = in_node(f"{{layout: e.layout(it.array, it.mesh, it.spec), traffic: e.traffic(it), after: {after}}}", states)
    command = [sys.executable, str(ROOT / "tests/support/explorer_in_jax.py")]
    done = subprocess.run(command, input=json.dumps(states), capture_output=True, text=True, check=True, cwd=ROOT)
    theirs = json.loads(done.stdout)
    for it, us, jax in zip(states, ours, theirs, strict=True):
        assert all(agree(us[part], jax[part]) for part in ("layout", "traffic")), (it, us, jax)
        assert "after" not in jax or us["after"] == jax["after"], (it, us, jax)
    assert sum(bool(us["traffic"]) for us in ours[:-2]) >= (12 if count == 24 else 140)
    for us, jax in zip(ours[-2:], theirs[-2:], strict=True):
        assert "duplicate entries for `x`" in us["traffic"]["error"] == jax["traffic"]["error"]


def test_a_state_survives_its_address_and_nonsense_is_none():
    draw = random.Random(3)
    states = [state(draw) for _ in range(100)]
    assert in_node("e.read(e.query(it))", states) == states
    nonsense = ["", "array=8&mesh=2", "array=8&mesh=20&spec=x", "array=0&mesh=2&spec=x", "array=8&mesh=2&spec=y",
                "array=8&mesh=2&spec=xx", "array=8&mesh=2&spec=x&do=fly", "array=8&mesh=2&spec=x&do=sum&dim=1",
                "array=8&mesh=2&spec=x&do=matmul&second=-,-&columns=8", "array=<b>&mesh=2&spec=x"]  # fmt: skip
    assert in_node("e.read(it)", nonsense) == [None] * len(nonsense)


def test_devices_have_the_colours_of_minipods_pictures():
    sheet = (SCRIPT.parent / "explorer.css").read_text("utf-8")
    assert all(f".c{i} {{ background: var(--minipod-shard-{i}, {c}); }}" in sheet for i, c in enumerate(PALETTE))


@pytest.mark.long
@pytest.mark.parametrize("do", ["do=reshard&to=-,x", "do=sum&dim=0", "do=matmul&second=-,y&columns=8"])
def test_the_code_to_paste_runs_and_prints_the_same_bill(do):
    query = f"array=8,16&mesh=2,4&spec=x,-&{do}"
    code, bill = in_node("[e.code(e.read(it)), e.traffic(e.read(it)).bill]", [query])[0]
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    for row in bill:
        assert row["op"] in printed and f"{row['sent']:,}" in printed
    assert bill or "nothing is sent" in printed


def test_what_stands_there_without_script_is_what_the_script_draws(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import interactive  # type: ignore[import-not-found]

    states = [([8, 16], [2, 4], ["x", "-"]), ([16, 48], [4, 4], ["yx", "-"]), ([6, 8, 4], [3, 2, 2], ["x", "zy", "-"]),
              ([32], [8], ["x"]), ([4, 8], [2, 4], ["-", "yx"])]  # fmt: skip
    drawn = in_node("(l => [e.drawn(it[0], it[1], l), l.bytes, l.copies])(e.layout(...it))", states)
    for state, theirs in zip(states, drawn, strict=True):
        tables, numbers = interactive.drawn(*state)
        assert [tables, numbers["bytes"], numbers["copies"]] == theirs
    with pytest.raises(ValueError, match="cannot be cut"):
        interactive.drawn([5], [2], ["x"])
