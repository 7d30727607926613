"""What lessons record for the player: the ring against devices that pass on a piece at a time, and the others."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_frames import cells
from jax import NamedSharding, P
from small_meshes import mesh_of

from lessons.ch07_collectives.programs import ring_of_pieces
from lessons.ch07_collectives.traced import traced_ring
from minipod import devices, pictures, traffic

ROOT = Path(__file__).resolve().parents[2]
devices.simulate(8)


def turn_by_turn(n: int) -> list[np.ndarray]:
    """What devices hold after every turn that start with 2 ** i in each piece: [device, piece]."""
    states = [np.tile(2 ** np.arange(n)[:, None], (1, n))]
    for k in range(2 * n - 2):
        old, new = states[-1], states[-1].copy()
        for me in range(n):
            after, adds = (me + 1) % n, k < n - 1
            away = (me - k) % n if adds else (after - (k - n + 1)) % n
            new[after, away] = old[me, away] + adds * old[after, away]
        states.append(new)
    return states


@pytest.mark.parametrize("n", [3, pytest.param(8, marks=pytest.mark.long)])
def test_every_frame_shows_what_the_devices_hold_and_what_came_from_where(n):
    mesh = jax.make_mesh((n,), ("x",), devices=jax.devices()[:n])
    trace, states = traced_ring(mesh), turn_by_turn(n)
    player = pictures.play(trace)
    assert len(player.frames) == len(states) == 2 * n - 1
    for frame, state in enumerate(states):
        owners = [[{i for i in range(n) if held >> i & 1} for held in row] for row in state.tolist()]
        assert cells(player, frame) == [[(str(len(own)), own) for own in row] for row in owners]
    assert all(own == set(range(n)) for row in owners for own in row)
    for step, old, new in zip(trace.steps[1:], states, states[1:], strict=False):
        changed = {(d, p) for d in range(n) for p in range(n) if old[d, p] != new[d, p]}
        assert {(m.target, m.place) for m in step.moves} == changed
        assert all(m.source == (m.target - 1) % n for m in step.moves)
    ring = jax.jit(jax.shard_map(ring_of_pieces, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
    x = jax.ShapeDtypeStruct((n * n,), jnp.int32, sharding=NamedSharding(mesh, P("x")))
    assert sum(step.sent for step in trace.steps) == traffic.total(traffic.of(ring, x))
    heard = player.heard
    assert heard[0] == f"Each of {n} devices has cut its block into {n} pieces."
    assert heard[1].startswith(
        f"Turn 1 of {2 * n - 2} adds what comes; a device has sent 4 of {8 * n - 8} bytes so far"
    )
    assert "device 0 sends piece 0 to device 1" in heard[1]
    adding = [" adds what comes" in said for said in heard[1:]]
    assert adding == [True] * (n - 1) + [False] * (n - 1)


def test_steps_that_are_queued_are_recorded_as_host_and_device_did_them():
    from lessons.ch01_devices.recorded import PREPARE, queued

    line = queued(steps=3)
    host, device = ([s for s in line.spans if s.lane == lane] for lane in (0, 1))
    assert [s.label for s in host] == [s.label for s in device] == ["1", "2", "3"]
    assert all(s.end - s.start >= 1e3 * PREPARE for s in host)
    for lane in host, device:
        assert all(a.end <= b.start + 1e-3 for a, b in zip(lane, lane[1:], strict=False))
    assert all(h.start < d.start for h, d in zip(host, device, strict=True))  # nobody works on what is not there
    assert len(line.steps) == 6 and [t for t, _ in line.steps] == sorted(s.end for s in line.spans)
    said = pictures.play(line).sentences
    assert said[-1].endswith("the host has handed over 3 of 3.") or said[-1].endswith("the device has finished 3 of 3.")


def test_a_hang_stands_in_lanes_with_the_line_that_waits():
    from lessons.ch12_pitfalls.lanes import lanes
    from minipod.cluster import Run

    stack = "main.py:9 train()\nmain.py:7 print(total(batch))\n  in jax, array.py:425 __str__"
    done = Run(["step 0 [8.]\nstep 1 [8.]", "step 0 [8.]"], [-9, 0], 5.0, stacks=[stack, ""])
    line = lanes(done)
    drawn = [(s.lane, s.start, s.label, s.open) for s in line.spans]
    assert drawn == [
        (0, 0, "step 0", False), (1, 0, "step 0", False), (0, 1, "step 1", False),
        (0, 2, "waits in line 7", True), (1, 1, "at its end", False),
    ]  # fmt: skip
    assert pictures.play(line).sentences == (
        "Line 1 of the output: process 0 prints step 0 [8.]; process 1 prints step 0 [8.].",
        "Line 2 of the output: process 0 prints step 1 [8.].",
        "Then: process 0 waits in line 7: print(total(batch)); process 1 is at its end.",
    )


@pytest.mark.parametrize("name", ["same", "moved"])
def test_a_night_has_a_lane_for_each_start_with_what_was_done_twice(name):
    from lessons.ch16_capstone.restarts import restarts

    text = (ROOT / "lessons/ch16_capstone/night.json").read_text("utf-8")
    night = json.loads(text)["nights"][name]
    line = restarts(night)
    assert list(line.lanes) == [f"start {i + 1}" for i in range(len(night["starts"]))]
    done: set[int] = set()
    for i, steps in enumerate(night["starts"]):
        spans = [s for s in line.spans if s.lane == i]
        again = {step for _, step in steps} & done
        assert (spans[0].start, spans[-1].end) == (steps[0][0], steps[-1][0])
        assert spans[-1].label == str(steps[-1][1]) and len(spans) == 1 + bool(again)
        said = pictures.play(line).sentences[2 * i + 1]
        assert f"steps {steps[0][1]} to {steps[-1][1]}" in said
        assert (f"{len(again)} of them a second time" in said) is bool(again)
        done |= {step for _, step in steps}
    if name == "same":
        last = night["starts"][0][-1][1]
        assert f"told to go: step {last} is saved; ended with 75: again" in pictures.play(line).sentences[1]


def test_every_turn_of_ring_attention_shows_the_block_that_a_device_has(lesson, n=4):
    frames = lesson("ch19_sequences", "frames")
    mesh = mesh_of(s=n)
    held = frames.recorded(mesh, np.arange(8 * n))
    player = pictures.play(frames.turns(held, 100 * (n - 1)))
    for turn in range(n):
        owners = [(i - turn) % n for i in range(n)]  # a block goes to the next device in every turn
        assert cells(player, turn) == [[(f"{8 * o}–{8 * o + 7}", {o})] for o in owners]
    assert player.sentences[-1].endswith(f"{100 * (n - 1)} of {100 * (n - 1)} bytes so far.")
