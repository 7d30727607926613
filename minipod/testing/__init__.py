"""Test a parallel program as it will run: in several processes, on many devices, within budgets of bytes and FLOPs.

    @pytest.mark.processes(2, devices=4)
    def test_every_process_has_the_sum(shared_tmp_path):     # runs in both, as one cluster
        assert jax.process_count() == 2

    assert_traffic(step, weights, batch, sent=28_672, only={"all-reduce"})

A plug-in provides the markers: put `pytest_plugins = ["minipod.testing.plugin"]` into the top conftest.py. It also
provides the fixtures `shared_tmp_path` and `plans`, whose `check` compares a program's figures with a committed file.

    >>> import jax
    >>> from minipod.testing import assert_traffic
    >>> at = jax.NamedSharding(jax.make_mesh((8,), ("data",)), jax.P("data"))
    >>> x = jax.device_put(jax.numpy.ones((32, 64)), at)
    >>> assert_traffic(lambda x: x.sum(0), x, sent=448, only={"all-reduce"})
"""

from minipod.testing.budgets import assert_memory, assert_replicas_equal, assert_traffic, assert_work
from minipod.testing.cable import left_host
from minipod.testing.faults import reach
from minipod.testing.plans import Plans

__all__ = ["Plans", "assert_memory", "assert_replicas_equal", "assert_traffic", "assert_work", "left_host", "reach"]
