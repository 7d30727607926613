"""The marker `hosts`: a test's processes on hosts of their own, with a cable that is as slow as it says."""

import pytest
from strangers_tests import run

from minipod import hosts
from minipod.processes import children


@pytest.mark.skipif(hosts.why_not(delay=True) is not None, reason=str(hosts.why_not(delay=True)))
def test_processes_are_on_hosts_and_what_leaves_one_is_a_ring_s_hop(tmp_path):
    before = set(children())
    printed, outcomes = run(
        tmp_path,
        """
import socket
from jax.sharding import AxisType
from minipod.testing import left_host

def summed(bytes=1 << 18):
    mesh = jax.make_mesh((jax.device_count(),), ("x",), (AxisType.Auto,))
    at = jax.NamedSharding(mesh, jax.P("x"))
    x = jax.make_array_from_callback((jax.device_count(), bytes // 4), at, lambda i: np.ones((1, bytes // 4), "f"))
    f = jax.jit(lambda x: x.sum(0), out_shardings=jax.NamedSharding(mesh, jax.P()))
    jax.block_until_ready(f(x))
    multihost_utils.sync_global_devices("compiled")
    before = left_host()   # of the whole host: nobody on it may have begun
    multihost_utils.sync_global_devices("counted")
    began = time.monotonic()
    assert np.asarray(jax.block_until_ready(f(x)))[0] == jax.device_count()
    took = time.monotonic() - began
    multihost_utils.sync_global_devices("summed")
    return left_host() - before, took

@pytest.mark.hosts(2)
@pytest.mark.processes(4, devices=2)
def test_bytes():
    assert socket.gethostname() == f"host{jax.process_index() // 2}" and os.path.exists("test_it.py")
    bytes, _ = summed()
    ring = 2 * 7 * 2**18 // 8   # of a ring of 8, one hop leaves a host
    assert ring <= bytes <= 1.1 * ring + 20_000, (bytes, ring)

@pytest.mark.hosts(2, rate="20mbit")
@pytest.mark.processes(2, devices=4)
def test_rate():
    _, took = summed()
    assert took >= 2 * 7 * 2**18 // 8 * 8 / 20e6   # 0.18 s, however idle the machine is

@pytest.mark.hosts(2, delay="20ms")
@pytest.mark.processes(2, devices=1)
def test_delay():
    _, took = summed(bytes=64)
    assert took >= 0.02   # one way

@pytest.mark.processes(2)
def test_here():
    left_host()
""",
    )
    passed = {name for name, outcome in outcomes.items() if outcome == "PASSED"}
    assert passed == {"test_bytes", "test_rate", "test_delay"} and outcomes["test_here"] == "FAILED", printed
    assert "this process is not on a simulated host: mark the test with processes(m) and hosts(n)" in printed
    assert set(children()) == before


def test_where_no_hosts_can_be_made_it_is_skipped_with_the_reason(tmp_path):
    printed, _ = run(
        tmp_path,
        """
from minipod.hosts import namespaces
namespaces.why_not = lambda delay=False: "hosts need another machine"

@pytest.mark.hosts(2)
@pytest.mark.processes(2)
def test_one():
    pass
""",
    )
    assert "1 skipped" in printed and "hosts need another machine" in printed, printed
