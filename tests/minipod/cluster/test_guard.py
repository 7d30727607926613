"""minipod.guard: programs that would lie or hang are stopped at the call where they part, in words that say how."""

import re
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P

from minipod import cluster
from minipod.cluster import coordinator_store
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


def reduced(mesh, how):
    return jax.jit(jax.shard_map(lambda x: how(x[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))


@pytest.fixture
def total(mesh):
    return reduced(mesh, jax.lax.psum)


def out_of_step(said: str):
    """Which call of this process it is, nobody asks here."""
    return pytest.raises(OutOfStep, match=rf"^call \d+: {re.escape(said)}$")


@pytest.mark.processes(2)
def test_processes_in_step_are_left_alone_and_what_would_lie_or_hang_is_named_before(everyone, total, mesh):
    me, mean = jax.process_index(), reduced(mesh, jax.lax.pmean)
    in_step = watched(total), watched(mean)
    assert [(in_step[0](everyone(ONES))[0], in_step[1](everyone(ONES * me))[0]) for _ in range(3)] == [(8.0, 0.5)] * 3
    name, factor = (("w1", 1), ("w2", 100))[me]
    with out_of_step("process 0 calls w1(float32[8@i,1]); process 1 calls w2(float32[8@i,1])"):  # another order
        watched(total, name)(everyone(ONES * factor))
    with out_of_step("process 0 calls total(float32[8@i,8]); process 1 calls total(float32[8@i,16])"):
        watched(total, "total")(everyone(np.ones((4, (8, 16)[me]))))
    with out_of_step("process 0 calls total(float32[8@i,1]); process 1 calls mean(float32[8@i,1])"):
        (watched(total, "total"), watched(mean, "mean"))[me](everyone(ONES))
    f = watched(lambda *a, **k: None, "f")
    f({"w": ONES, "b": 1.0 + me}, 3 + me, mode="train")  # numbers may differ
    with out_of_step("process 0 calls f(mode='train'); process 1 calls f(mode='test')"):
        f(mode=("train", "test")[me])


def test_a_process_that_has_finished_is_named_at_once(tmp_path):
    """Its Python has ended, which a test's process does later: this one is a program."""
    (tmp_path / "p.py").write_text(SOONER)
    done = cluster.run(tmp_path / "p.py", check=False, limit=60)
    assert done.outputs[1] == "0\n1\n"
    assert "OutOfStep: call 3, total(int): process 1 did not arrive; it has finished\n" in done.outputs[0]
    (tmp_path / "p.py").write_text(SOONER + "if me:\n    raise KeyError\n")
    done = cluster.run(tmp_path / "p.py", check=False, limit=60, survivors=True)
    assert "call 3, total(int): process 1 did not arrive; it has ended with KeyError\n" in done.outputs[0]


@pytest.mark.processes(2)
def test_a_process_that_is_elsewhere_is_named_after_the_patience(everyone, total, monkeypatch):
    """Also by a coordinator that needs a moment to answer, as beside busy processes."""
    get = coordinator_store.get

    def slow(key: str, seconds: float) -> str:
        if key.startswith("guard/last/") and seconds < 1:
            raise TimeoutError
        return get(key, seconds)

    monkeypatch.setattr(coordinator_store, "get", slow)
    watched(total, "total")(everyone(ONES))
    if jax.process_index() == 0:
        said = "call 2, total(float32[8@i,1]): process 1 did not arrive within 2 s; it was last at call 1, total("
        with pytest.raises(OutOfStep, match=f"^{re.escape(said)}"):
            watched(total, "total", seconds=2)(everyone(ONES))
    else:
        time.sleep(4)


@pytest.mark.processes(2)
def test_another_program_for_the_same_arguments_is_named_before_it_lies(everyone, total):
    me, x = jax.process_index(), everyone(np.ones(4))

    def decode(x, length):
        return jax.lax.scan(lambda y, _: (y + total(x), None), jnp.float32(0), None, length=length)[0]

    step = watched(jax.jit(decode, static_argnums=1))
    assert [step(x, n) for n in (4, 16, 4)] == [32, 128, 32]
    said = r"^call 4, decode\(float32\[8@i\], int\), runs different programs: "
    said += "process 0 runs program [0-9a-f]{8} with 4; process 1 runs program [0-9a-f]{8} with 16$"
    with pytest.raises(OutOfStep, match=said):
        step(x, (4, 16)[me])
    factor = (1.0, 100.0)[me]  # of a closure
    with pytest.raises(OutOfStep, match=r"^call 5, total\(float32\[8@i,1\]\), runs different programs: "):
        watched(jax.jit(lambda x: total(x) * factor), "total")(everyone(ONES))


@pytest.mark.processes(2)
def test_what_differs_without_another_program_is_left_alone_and_a_program_is_lowered_once(total, everyone, monkeypatch):
    """Numbers that are traced, and functions that the program calls back: each process has its own."""
    me, x = jax.process_index(), everyone(ONES)
    for _ in range(me):
        jax.jit(lambda y: jax.debug.callback(print, y))(1.0)

    @jax.jit
    def told(x, n):
        jax.debug.callback(lambda n: None, n)
        return total(x) * n

    assert watched(told)(x, 2) == 16
    watched(jax.jit(lambda x, n: total(x) * n), "times")(x, 4 + me)

    traced, lowered = [], []
    lower = jax.stages.Traced.lower
    monkeypatch.setattr(jax.stages.Traced, "lower", lambda self, **how: lowered.append(1) or lower(self, **how))

    @jax.jit
    def counted(x, n):
        traced.append(1)
        return total(x) * n

    step = watched(counted)
    for n in range(3):
        step(x, n)
    assert (len(traced), len(lowered)) == (1, 1)


@pytest.mark.processes(1, devices=8)
def test_alone_nothing_is_compared(everyone, total):
    assert watched(total)(everyone(np.ones((8, 1)))) == 8.0
