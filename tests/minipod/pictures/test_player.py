"""What a player shows of a trace, of lanes and of a table, and what it says of it."""

import re
import xml.etree.ElementTree as ET
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_frames import SVG, cells
from jax import NamedSharding, P, lax

from minipod import pictures


def on_each(f, mesh):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P(mesh.axis_names), out_specs=P(mesh.axis_names)))


def numbered(*sizes, rows=4):
    """A mesh, and an array of which each device has a block of its own numbers, the tens those of the device."""
    n = int(np.prod(sizes))
    mesh = jax.make_mesh(sizes, ("x", "y")[: len(sizes)], devices=jax.devices()[:n])
    numbers = (10 * jnp.arange(1, n + 1)[:, None] + jnp.arange(rows)).ravel()
    return mesh, jax.device_put(numbers, NamedSharding(mesh, P(mesh.axis_names)))


ASKED = {
    "psum": lambda n: partial(lax.psum, axis_name="x"),
    "all_gather": lambda n: partial(lax.all_gather, axis_name="x", tiled=True),
    "psum_scatter": lambda n: partial(lax.psum_scatter, axis_name="x", tiled=True),
    "all_to_all": lambda n: lambda b: lax.all_to_all(b, "x", 0, 0, tiled=True),
    "ppermute": lambda n: lambda b: lax.ppermute(b, "x", [(i, i + 1) for i in range(n - 1)]),
}
# Of device i the owners of each of its cells afterwards, by what the collectives are.
OWNERS = {
    "psum": lambda n, m, i: [set(range(n))] * m,
    "all_gather": lambda n, m, i: [{j} for j in range(n) for _ in range(m)],
    "psum_scatter": lambda n, m, i: [set(range(n))] * (m // n),
    "all_to_all": lambda n, m, i: [{j} for j in range(n) for _ in range(m // n)],
    "ppermute": lambda n, m, i: [{i - 1} if i else set()] * m,
}
SENT = {"psum": lambda n, b: 2 * b * (n - 1) // n, "all_gather": lambda n, b: b * (n - 1), "ppermute": lambda n, b: b}


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("name", ASKED)
def test_before_and_after_show_what_the_devices_hold_and_whose_it_is(name, n):
    rows = 4 if n < 8 or name == "all_gather" else 8
    mesh, x = numbered(n, rows=rows)
    program = on_each(ASKED[name](n), mesh)
    trace = pictures.before_and_after(program, x)
    player = pictures.play(trace)
    for frame, held in enumerate((x, program(x))):
        blocks = [np.asarray(s.data).tolist() for s in held.addressable_shards]
        assert [[text for text, _ in row] for row in cells(player, frame)] == [[str(v) for v in b] for b in blocks]
    assert [[own for _, own in row] for row in cells(player, 0)] == [[{i}] * rows for i in range(n)]
    assert [[own for _, own in row] for row in cells(player, 1)] == [OWNERS[name](n, rows, i) for i in range(n)]
    size = 4 * rows
    assert trace.steps[1].sent == SENT.get(name, lambda n, b: b * (n - 1) // n)(n, size)
    assert player.sentences[1].endswith(f"a device has sent {trace.steps[1].sent:,} bytes.")


def test_the_largest_and_groups_have_the_colours_of_all_that_take_part():
    mesh, x = numbered(4)
    player = pictures.play(pictures.before_and_after(on_each(partial(lax.pmax, axis_name="x"), mesh), x))
    assert all(own == {0, 1, 2, 3} for row in cells(player, 1) for _, own in row)
    mesh, x = numbered(2, 4, rows=2)
    player = pictures.play(pictures.before_and_after(on_each(partial(lax.psum, axis_name="x"), mesh), x))
    assert [row[0][1] for row in cells(player, 1)] == [{i % 4, i % 4 + 4} for i in range(8)]


def some_trace() -> pictures.Trace:
    trace = pictures.Trace(3)
    trace.step("start", [["a"], ["b"], ["c"]])
    trace.step("turn 1", [["c"], ["a"], ["b"]], [pictures.Move(i, (i + 1) % 3, 0, 10) for i in range(3)])
    trace.step("turn 2", [["c", "x"], ["a"], ["b"]], [pictures.Move(2, 1, 0, 5), pictures.Move(2, 0, 1, 1)])
    return trace


def test_bytes_are_counted_up_and_every_move_is_said():
    player = pictures.play(some_trace())
    assert player.sentences == (
        "start.", "turn 1; a device has sent 10 of 16 bytes so far.", "turn 2; a device has sent 16 of 16 bytes so far."
    )  # fmt: skip
    moved = ": device 0 sends its block to device 1; device 1 sends its block to device 2; device 2 sends its block to "
    assert player.heard[1] == player.sentences[1][:-1] + moved + "device 0."
    assert "device 2 sends piece 1 to device 0" in player.heard[2] and player.heard[0] == player.sentences[0]
    assert "device 0 holds c, x; device 1 holds a; device 2 holds b." in player.alt
    rects = [[r.attrib for r in ET.fromstring(f.svg).iter(f"{SVG}rect")] for f in player.frames]
    bars = [[float(r["width"]) for r in drawn if r.get("height") == "10"] for drawn in rects]
    assert [bar[1:] for bar in bars] == [[], [bars[0][0] * 10 / 16], [bars[0][0]]]


def test_the_frames_are_of_one_size_and_the_markup_holds_all_of_them():
    players = [pictures.play(some_trace()), pictures.play([["F0", None], ["F1", "F0"], ["", "F1"]])]
    for player in players:
        boxes = {re.findall(r'viewBox="([^"]+)"', f.svg)[0] for f in player.frames}
        markup = player._repr_html_()
        assert len(boxes) == 1 and markup.count("<svg ") == markup.count('<p class="said"') == 3
        assert markup.count("<style>") == player.frames[0].svg.count("<style>") and "<script" not in markup
        assert player._repr_mimebundle_() == {"text/html": markup, "text/plain": repr(player)}
        assert repr(player) == player.alt
    assert "display:none" not in players[0]._repr_html_()
    assert players[1]._repr_html_().count("display:none") == 2  # the last one shows what the others do


def test_a_table_has_a_lane_for_each_stage_and_counts_idle_places():
    table = [["F0", None], ["F1", "F0"], ["B0", "F1"], ["", "B0"]]
    player = pictures.play(table, lanes=["first", "second"])
    assert player.sentences[1] == "Tick 2 of 4: first works on F1; second works on F0; idle so far: 1 of 4 places."
    assert player.sentences[-1].endswith("idle so far: 2 of 8 places.") and player.grows
    assert "first: F0, F1, B0; second: F0, F1, B0." in player.alt
    for t, frame in enumerate(player.frames):
        rects = [r.attrib for r in ET.fromstring(frame.svg).iter(f"{SVG}rect")]
        done = [label for tick in table[: t + 1] for label in tick if label]
        assert sum("cell" in r.get("class", "") for r in rects) == len(done)
        backward = [r for r in rects if "url(#" in r.get("fill", "")]
        assert len(backward) == sum(label[0] == "B" for label in done)
    numbers = pictures.play(np.array([[0, 1], [1, 0]]))
    assert numbers.sentences[0].startswith("Tick 1 of 2: stage 0 works on 0; stage 1 works on 1")


def test_a_frame_of_lanes_shows_what_was_done_by_then():
    line = pictures.Timeline(["host", "device"], "milliseconds")
    line.span(0, 10.0, 12.0, "1")
    line.span(1, 11.0, 20.0, "1", 1)
    line.span(0, 12.0, 20.0, "waits", open=True)
    line.step(12.0, ["word", "the call returns"])
    line.step(20.0, ["word", "the result is there"])
    player = pictures.play(line)
    wide = [[float(r.attrib["width"]) for r in ET.fromstring(f.svg).iter(f"{SVG}rect")] for f in player.frames]
    assert [round(w) for w in wide[0]] == [50, 25] and [round(w) for w in wide[1]] == [50, 225, 200]
    assert player.sentences == ("the call returns.", "the result is there.")
