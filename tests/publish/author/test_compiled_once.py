"""A mutant is compiled once for inputs that are traced alike, and again where one is not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from grader.see.observation import Traffic
from publish.author.compiled_once import CompiledOnce

MESH = jax.make_mesh((8,), ("x",))


def split(*spec):
    return jax.device_put(np.ones((8, 8), np.float32), NamedSharding(MESH, P(*spec)))


class Traced:
    """A function that notes how often it is traced."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, x, by):
        self.times += 1
        if by == 0:
            raise ZeroDivisionError("by 0")
        return x / by


def test_other_numbers_are_not_traced_again_nor_an_error_until_all_is_forgotten():
    function, compiler = Traced(), CompiledOnce()
    for x in np.arange(1, 5, dtype=np.float32).reshape(2, 2):
        run, arrays, traffic = compiler(function, (jnp.asarray(x), 2), None)
        assert np.array_equal(run(*arrays), x / 2)
        assert isinstance(traffic, Traffic) and not traffic.transfers
    assert function.times == 1
    for times in (2, 2, 3):
        if times == 3:
            compiler.forget()
        with pytest.raises(ZeroDivisionError):
            compiler(function, (jnp.ones(2), 0), None)
        assert function.times == times


def test_what_may_be_traced_otherwise_is_traced_again():
    ones = jnp.ones(2), 2
    for one, other in [
        (ones, (jnp.ones(3), 2)),
        (ones, (jnp.ones(2, int), 2)),
        (ones, (np.ones(2, np.float32), 2)),
        (ones, (jnp.ones(2), 3)),
        ((jnp.ones(2), 1), (jnp.ones(2), True)),
        ((jnp.asarray(2.0), 2), (jnp.ones(()), 2)),  # of no type of its own, and of one
        ((split("x"), 2), (split(None, "x"), 2)),
    ]:
        function, compiler = Traced(), CompiledOnce()
        for args in (one, other, one, other):
            run, arrays, _ = compiler(function, args, None)
            assert np.array_equal(run(*arrays), args[0] / args[1])
        assert function.times == 2
