"""minipod.guard: programs that would lie or hang are stopped at the call where they part, in words that say how."""

import re
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P

from minipod import cluster
from minipod.guard import OutOfStep, watched

ONES = np.ones((4, 1))
SOONER = """
import jax
from minipod.cluster import launch_arguments
from minipod.guard import OutOfStep, watched
jax.distributed.initialize(**launch_arguments())
me = jax.process_index()
total = watched(lambda k: print(k), "total", seconds=50)
for step in range(3 - me):
    total(step)
"""


@pytest.fixture
def mesh():
    return jax.make_mesh((jax.device_count(),), ("i",))


@pytest.fixture
def everyone(mesh):
    """Makes one array of what each process holds of it."""

    def put(mine):
        return jax.make_array_from_process_local_data(jax.NamedSharding(mesh, P("i")), np.float32(mine))

    return put


@pytest.fixture
def total(mesh):
    return jax.jit(jax.shard_map(lambda x: jax.lax.psum(x[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))


@pytest.fixture
def mean(mesh):
    return jax.jit(jax.shard_map(lambda x: jax.lax.pmean(x[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))


def out_of_step(said: str):
    return pytest.raises(OutOfStep, match=f"^{re.escape(said)}$")


@pytest.mark.processes(2)
def test_processes_in_step_are_left_alone(everyone, total, mean):
    me = jax.process_index()
    total, mean = watched(total), watched(mean)
    assert [(total(everyone(ONES))[0], mean(everyone(ONES * me))[0]) for _ in range(3)] == [(8.0, 0.5)] * 3


@pytest.mark.processes(2)
def test_another_order_is_named_before_it_lies(everyone, total):
    name, factor = (("w1", 1), ("w2", 100))[jax.process_index()]
    with out_of_step("call 1: process 0 calls w1(float32[8@i,1]); process 1 calls w2(float32[8@i,1])"):
        watched(total, name)(everyone(ONES * factor))


@pytest.mark.processes(2)
def test_other_shapes_are_named_before_they_lie(everyone, total):
    with out_of_step("call 1: process 0 calls total(float32[8@i,8]); process 1 calls total(float32[8@i,16])"):
        watched(total, "total")(everyone(np.ones((4, (8, 16)[jax.process_index()]))))


@pytest.mark.processes(2)
def test_another_function_is_named_instead_of_a_hang(everyone, total, mean):
    with out_of_step("call 1: process 0 calls total(float32[8@i,1]); process 1 calls mean(float32[8@i,1])"):
        (watched(total, "total"), watched(mean, "mean"))[jax.process_index()](everyone(ONES))


def test_a_process_that_has_finished_is_named_at_once(tmp_path, monkeypatch):
    """Its Python has ended, which a test's process does later: this one is a program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(SOONER)
    done = cluster.run("p.py", check=False, limit=60)
    assert done.outputs[1] == "0\n1\n"
    assert "OutOfStep: call 3, total(int): process 1 did not come; it has finished\n" in done.outputs[0]


@pytest.mark.processes(2)
def test_a_process_that_is_elsewhere_is_named_after_the_patience(everyone, total):
    total = watched(total, "total", seconds=8)
    total(everyone(ONES))
    if jax.process_index() == 0:
        missing = "call 2, total(float32[8@i,1]): process 1 did not come within 8 s; "
        with out_of_step(missing + "it was last at call 1, total(float32[8@i,1])"):
            total(everyone(ONES))
    else:
        time.sleep(9)


@pytest.mark.processes(2)
def test_numbers_may_differ_texts_and_trees_may_not():
    me = jax.process_index()
    f = watched(lambda *a, **k: None, "f")
    f({"w": ONES, "b": 1.0 + me}, 3 + me, mode="train")
    with out_of_step("call 2: process 0 calls f(mode='train'); process 1 calls f(mode='test')"):
        f(mode=("train", "test")[me])


def decode(mesh, static):
    """A scan over rows of f32[8@i], as many turns as its last argument says, if that is static; else what it says."""

    def length_from(x, length):
        mine = jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
        return jax.lax.scan(lambda y, _: (y + mine(x)[0], None), jnp.float32(0), None, length=length)[0]

    f = length_from if static else lambda x, length: length_from(x, 4) * length
    return jax.jit(f, static_argnums=1 if static else ())


@pytest.mark.processes(2)
def test_another_program_for_the_same_arguments_is_named_before_it_lies(mesh, everyone):
    bucket, x = (4, 16)[jax.process_index()], everyone(np.ones(4))
    step = watched(decode(mesh, static=True), "decode")
    assert [step(x, n) for n in (4, 16, 4)] == [32, 128, 32]
    said = r"^call 4, decode\(float32\[8@i\], int\), is not the same program everywhere: "
    with pytest.raises(OutOfStep, match=said + "process 0 has [0-9a-f]{8} with 4; process 1 has [0-9a-f]{8} with 16$"):
        step(x, bucket)


@pytest.mark.processes(2)
def test_a_closure_that_differs_is_another_program(everyone, total):
    factor = (1.0, 100.0)[jax.process_index()]
    with pytest.raises(OutOfStep, match=r"^call 1, total\(float32\[8@i,1\]\), is not the same program everywhere: "):
        watched(jax.jit(lambda x: total(x) * factor), "total")(everyone(ONES))


@pytest.mark.processes(2)
def test_what_differs_without_another_program_is_left_alone(mesh, everyone):
    """Numbers that are traced, and functions that the program calls back: each process has its own."""
    me, x = jax.process_index(), everyone(np.ones(4))
    for _ in range(me):
        jax.jit(lambda y: jax.debug.callback(print, y))(1.0)

    @jax.jit
    def told(x, n):
        jax.debug.callback(lambda n: None, n)
        return decode(mesh, static=False)(x, n)

    assert watched(told)(x, 2) == 64
    watched(decode(mesh, static=False), "decode")(x, 4 + me)


@pytest.mark.processes(2)
def test_a_program_is_traced_and_lowered_once(mesh, everyone, monkeypatch):
    traced, lowered = [], []
    lower = jax.stages.Traced.lower
    monkeypatch.setattr(jax.stages.Traced, "lower", lambda self, **how: lowered.append(1) or lower(self, **how))

    @jax.jit
    def counted(x, n):
        traced.append(1)
        return decode(mesh, static=False)(x, n)

    step, x = watched(counted), everyone(np.ones(4))
    for n in range(3):
        step(x, n)
    assert (len(traced), len(lowered)) == (1, 1)


@pytest.mark.processes(1, devices=8)
def test_alone_nothing_is_compared(everyone, total):
    assert watched(total)(everyone(np.ones((8, 1)))) == 8.0
