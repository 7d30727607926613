"""minipod.guard: programs that would lie or hang are stopped at the call where they part, in words that say how."""

from pathlib import Path

import pytest

from minipod import cluster

TOGETHER = """
import sys
import jax
import numpy as np
from jax import P
from minipod.cluster import launch_arguments
from minipod.guard import OutOfStep, watched
jax.distributed.initialize(**launch_arguments())
me = jax.process_index()
mesh = jax.make_mesh((jax.device_count(),), ("i",))
def everyone(mine):
    return jax.make_array_from_process_local_data(jax.NamedSharding(mesh, P("i")), np.float32(mine))
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
mean = jax.jit(jax.shard_map(lambda x: jax.lax.pmean(x[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
ones = np.ones((4, 1))
"""


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, **options) -> cluster.Run:
    monkeypatch.chdir(folder)
    (folder / "p.py").write_text(TOGETHER + program)
    return cluster.run("p.py", check=False, limit=60, **options)


def out_of_step(done: cluster.Run) -> list[str]:
    """Per process, the message of the OutOfStep that ended it."""
    lines = [[x for x in text.splitlines() if "OutOfStep: " in x] for text in done.outputs]
    return [found[-1].partition("OutOfStep: ")[2] if found else "" for found in lines]


def test_processes_in_step_are_left_alone(tmp_path, monkeypatch):
    done = run(
        tmp_path,
        monkeypatch,
        "total, mean = watched(total), watched(mean)\n"
        "for k in range(3):\n    print(total(everyone(ones)), mean(everyone(ones * me)))\n",
    )
    assert done.outputs == ["[8.] [0.5]\n" * 3] * 2 and done.ok


def test_another_order_is_named_before_it_lies(tmp_path, monkeypatch):
    program = (
        "for name in (['w1', 'w2'], ['w2', 'w1'])[me]:\n"
        "    print(watched(total, name)(everyone(ones * {'w1': 1, 'w2': 100}[name])))\n"
    )
    done = run(tmp_path, monkeypatch, program)
    said = "call 1: process 0 calls w1(float32[8@i,1]); process 1 calls w2(float32[8@i,1])"
    assert out_of_step(done) == [said, said]


def test_other_shapes_are_named_before_they_lie(tmp_path, monkeypatch):
    done = run(tmp_path, monkeypatch, "print(watched(total, 'total')(everyone(np.ones((4, (8, 16)[me])))))\n")
    said = "call 1: process 0 calls total(float32[8@i,8]); process 1 calls total(float32[8@i,16])"
    assert out_of_step(done) == [said, said]


def test_another_function_is_named_instead_of_a_hang(tmp_path, monkeypatch):
    done = run(tmp_path, monkeypatch, "print((watched(total, 'total'), watched(mean, 'mean'))[me](everyone(ones)))\n")
    assert all("process 0 calls total(" in text and "process 1 calls mean(" in text for text in out_of_step(done))


def test_a_process_that_has_finished_is_named_at_once(tmp_path, monkeypatch):
    program = (
        "total = watched(total, 'total', seconds=50)\nfor step in range(3 - me):\n    print(total(everyone(ones)))\n"
    )
    done = run(tmp_path, monkeypatch, program)
    assert done.outputs[1] == "[8.]\n[8.]\n"
    said = "call 3, total(float32[8@i,1]): process 1 did not come; it has finished"
    assert out_of_step(done) == [said, ""]


def test_a_process_that_is_elsewhere_is_named_after_the_patience(tmp_path, monkeypatch):
    program = (
        "import time\ntotal = watched(total, 'total', seconds=8)\nprint(total(everyone(ones)))\n"
        "if me == 0:\n    print(total(everyone(ones)))\nelse:\n    time.sleep(60)\n"
    )
    done = run(tmp_path, monkeypatch, program)
    said = (
        "call 2, total(float32[8@i,1]): process 1 did not come within 8 s; it was last at call 1, total(float32[8@i,1])"
    )
    assert out_of_step(done)[0] == said


def test_numbers_may_differ_texts_and_trees_may_not(tmp_path, monkeypatch):
    program = (
        "f = watched(lambda *a, **k: None, 'f')\nf({'w': ones, 'b': 1.0 + me}, 3 + me, mode='train')\nprint('fine')\n"
        "f(mode=('train', 'test')[me])\n"
    )
    done = run(tmp_path, monkeypatch, program)
    assert [text.splitlines()[0] for text in done.outputs] == ["fine", "fine"]
    assert out_of_step(done)[0] == "call 2: process 0 calls f(mode='train'); process 1 calls f(mode='test')"


def test_alone_nothing_is_compared(tmp_path, monkeypatch):
    done = run(tmp_path, monkeypatch, "print(watched(total)(everyone(np.ones((8, 1)))))\n", processes=1, devices=8)
    assert done.outputs == ["[8.]\n"] and done.ok
