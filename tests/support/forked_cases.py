"""minipod.forked: whatever a function does in its child, it ends with a result and leaves nothing.

Run by test_forked.py in a process of its own: a process in which JAX has started must not be forked.
"""

import errno
import os
import pkgutil
import re
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import psutil
import pytest

from minipod import forked
from minipod.processes import children


def psum():
    """The sum over all global devices of their position: 0 + 1 + … + 7 = 28."""
    mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec
    start = jax.process_index() * jax.local_device_count()
    mine = jnp.arange(start, start + jax.local_device_count())
    x = jax.make_array_from_process_local_data(jax.sharding.NamedSharding(mesh, spec("x")), mine)
    add = jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec())
    return jax.jit(add)(x).addressable_data(0).item()


def forever():
    while True:
        pass


def grandchildren():
    for _ in range(3):
        if not os.fork():
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(1000)
    return "forked"


def one_leaves():
    if jax.process_index() == 1:
        os._exit(3)
    return psum()


def one_waits():
    return psum() if jax.process_index() == 0 else "done"


def held_by_three(megabytes):
    """What this process starts holds it, each less than a process may have."""
    hold = f"x = bytearray({megabytes} << 20); print(flush=True); input()"
    command, pipe = [sys.executable, "-c", hold], subprocess.PIPE
    them = [subprocess.Popen(command, stdin=pipe, stdout=pipe) for _ in range(3)]
    for each in them:
        assert each.stdout and each.stdout.readline()
    time.sleep(1)
    return "held"


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(children())
    yield
    assert set(children()) <= before


def test_a_child_has_the_simulated_devices_returns_data_and_looks_for_no_plugins(monkeypatch):
    def look(**_):
        raise AssertionError("JAX looks into every package that is installed")

    monkeypatch.setattr("importlib.metadata.entry_points", look)
    (result,) = forked.run(lambda: [jax.device_count(), {"a": None}], devices=3)
    assert (result.status, result.value) == ("ok", [3, {"a": None}]), result.text
    (result,) = forked.run(lambda: print("said", repr(sys.stdin.read())) or os.write(2, b"aside\n"))
    assert "said ''" in result.output and "aside" in result.output
    (result,) = forked.run(grandchildren)
    assert result.value == "forked"  # the fixture sees that none is left


def test_a_pair_sums_with_a_proxy_in_its_way_and_without_the_private_names_of_jax_that_minipod_uses(monkeypatch):
    def gone(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setattr(pkgutil, "resolve_name", gone)
    results = forked.run(psum, processes=2, devices=1, seconds=300)
    assert [r.value for r in results] == [1, 1], results
    assert all("has no jax._src.xla_bridge._jax.make_gloo_tcp_collectives, so " in r.output for r in results)


def test_each_way_to_end_has_its_status():
    for ends, wanted, *limit in (
        (lambda: 1 / 0, "raised, ZeroDivisionError: division by zero"),
        (lambda: sys.exit("bye"), "raised, SystemExit: bye"),
        (lambda: os._exit(0), "died, exit code 0"),
        (lambda: os.kill(os.getpid(), 11), "died, SIGSEGV"),
        (lambda: os.closerange(3, 500), "closed, .*"),
        (lambda: [print("x" * 999) for _ in iter(int, 1)], "printed, 10 MB"),
        (forever, "hung, .*in forever.*", {"seconds": 2}),
        (lambda: jnp.ones(10**9).sum().item(), "(raised|died), .*", {"memory": 0.5}),
        (lambda: object(), "raised, .*"),
    ):
        (result,) = forked.run(ends, **dict(*limit))
        assert re.fullmatch(wanted, f"{result.status}, {result.text}", re.DOTALL), (wanted, result)


def test_a_process_that_dies_ends_its_peer_and_one_that_waits_for_one_that_has_finished_counts_as_hung():
    results = forked.run(one_leaves, processes=2, devices=1, seconds=3000)
    assert [r.status for r in results] == ["left", "died"]
    results = forked.run(one_waits, processes=2, devices=1, seconds=3000, patience=1)
    assert [r.status for r in results] == ["hung", "ok"]
    assert "in psum" in results[0].text


def test_a_collective_waits_no_longer_than_is_said():
    for told, seconds in ({}, 5), ({"collective": 1}, 1):
        job = forked.start(lambda: os.environ["XLA_FLAGS"].split()[-1], processes=2, devices=1, seconds=300, **told)
        said = [f"--xla_cpu_collective_timeout_seconds={seconds}"] * 2
        assert [r.value for r in forked.wait(job)] == said


def test_jobs_run_side_by_side_and_keep_their_own_limits():
    slow = forked.start(forever, seconds=1)
    quick = forked.start(lambda: "quick")
    assert forked.wait(quick)[0].value == "quick"
    assert forked.wait(slow)[0].status == "hung"


def test_when_the_second_process_cannot_start_the_first_ends(monkeypatch):
    started = []

    def fork(fork=os.fork):
        if started:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(fork())
        return started[0]

    files = set(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(BlockingIOError):
        forked.run(forever, processes=2, devices=1)
    monkeypatch.undo()
    assert not psutil.pid_exists(started[0]) and set(os.listdir("/dev/fd")) == files
    assert forked.run(lambda: "next")[0].value == "next"


@pytest.mark.skipif(sys.platform != "linux", reason="only there can it be seen what processes hold together")
@pytest.mark.parametrize("megabytes, devices, status", [(600, 8, "memory"), (600, None, "ok")])
def test_memory_is_counted_over_all_that_a_child_starts(megabytes, devices, status):
    (result,) = forked.run(lambda: held_by_three(megabytes), devices=devices, memory=0.5)
    assert result.status == status, result
