"""The designer's JavaScript says what `minipod.choose` says, and its data is what `publish.designer` makes."""

import json
import random
from dataclasses import replace

import javascript
import pytest

from minipod.choose import AXES, SHAPES, design
from minipod.pods.slices import slice_of
from publish import designer
from publish.page import ROOT

FILES = [json.dumps(str(ROOT / "book/_static" / name)) for name in ("designer.js", "designer_data.js")]
OURS = """([model, rows, length, on, by]) => {
  const of = {...data.models[model] ?? d.ownModel(...model), rows, length};
  const machine = data.machines[on], no = d.refusal(of, machine, by);
  if (no) return no;
  const made = d.design(of, machine, by);
  return {...made, fits: d.fits(made, of), bound: d.bound(made), boxes: d.boxes(machine, by)};
}"""


def in_node(settings: list) -> list:
    return javascript.in_node("const d = require({}), data = require({});".format(*FILES), OURS, settings)


def test_the_script_says_what_the_formulas_say():
    """In settings that a reader may choose, some of them refused."""
    draw, settings, refused = random.Random(int.from_bytes(b"pod")), [], 0
    every = {on: [*designer.layouts(slice_of(on).devices)] for on in designer.MACHINES}
    for _ in range(300):
        on = draw.choice(designer.MACHINES)
        by = dict(zip(AXES, draw.choice(every[on]), strict=True))
        rows = draw.choice([2, 64, 512, 4096])
        settings.append((draw.choice(["book", *SHAPES]), rows, draw.choice([1, 1024, 8192]), on, by))
    for (name, rows, length, on, by), ours in zip(settings, in_node(settings), strict=True):
        book = replace(designer.BOOK, rows=rows, length=length)
        try:
            theirs = design(book if name == "book" else SHAPES[name].model(rows, length, scores=True), on, **by)
        except ValueError:
            refused += 1
            assert isinstance(ours, list), (name, on, by)
            continue
        assert ours["held"] == pytest.approx(theirs.held, rel=1e-9), (name, on, by)
        assert ours["room"] == theirs.room
        assert ours["fits"] == {True: "fits", None: "close", False: "too much"}[theirs.fits]
        seconds = {part: getattr(theirs.seconds, part) for part in ("compute", "memory", "network")}
        assert ours["seconds"] == pytest.approx(seconds, rel=1e-6), (name, on, by)
        assert ours["bound"] == theirs.seconds.bound
        said = [(m["name"], m["op"], tuple(m["axes"]), m["times"], m["known"]) for m in ours["messages"]]
        assert said == [(m.name, m.op, m.axes, m.times, m.known) for m in theirs.messages], (name, on, by)
        sent = [m["sent"] for m in ours["messages"]]
        assert sent == pytest.approx([m.sent for m in theirs.messages], rel=1e-6), (name, on, by)
    assert 30 < refused < 200


def test_a_model_of_ones_own_has_scores_too_and_every_refusal_has_its_name():
    """As many tokens on a chip as `minipod choose` is asked about in the README: libtpu refused them for v5e:8x8."""
    one = dict.fromkeys(AXES, 1)
    (made,) = in_node([((7.5e9, 32, 4096), 1024, 4096, "v5e:16x16", one | {"fsdp": 256})])
    assert made["held"]["inside"] > 1.5 * 4 * 32 * 4 * 4096**2 and made["fits"] == "too much"
    settings = [
        ("llama_1b", 64, 1024, "v5e:2x4", one | {"fsdp": 4}),
        ("llama_1b", 4, 1024, "v5e:2x4", one | {"fsdp": 8}),
        ("llama_1b", 64, 2, "v5e:2x4", one | {"sequence": 8}),
        ("llama_1b", 64, 1024, "v5e:2x4", one | {"expert": 8}),
        ("llama_1b", 64, 1024, "v5e:16x16", one | {"stage": 256}),
        ("llama_1b", 64, 1024, "v5e:4x4", one | {"data": 2, "fsdp": 2, "sequence": 2, "tensor": 2}),
    ]
    assert [name for name, _ in in_node(settings)] == [
        "product", "no_rows", "no_length", "no_experts", "no_layers", "three",
    ]  # fmt: skip


def test_what_is_known_of_a_machine_is_what_is_computed():
    """The small ones; all are made again by `python -m publish.designer`."""
    (kept,) = javascript.in_node(f"const data = require({FILES[1]});", "() => data", [None])
    for on in ("v5e:2x4", "h100:8"):
        assert kept["machines"][on] == json.loads(json.dumps(designer.machine(slice_of(on))))
    assert kept["plans"] == json.loads(json.dumps(designer.plans()))
    assert kept["models"] == json.loads(json.dumps(designer.models())) and [*kept["machines"]] == [*designer.MACHINES]
