"""The checks of ch04_jit.

What the first exercise predicts is read from compiled programs.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, fitting, normal, sent
from minipod import traffic


def mesh(*sizes):
    """A mesh of the first devices with the Auto axes "x" and "y"."""
    sizes = fitting(*sizes)
    devices = np.array(jax.devices()[: math.prod(sizes)]).reshape(sizes)
    auto = (AxisType.Auto,) * len(sizes)
    return Mesh(devices, ("x", "y")[: len(sizes)], axis_types=auto)


def test_product_layout(check):
    def cases(rng):
        drawn = [
            ("ij,jk->ik", P("x", "y"), P("y")),
            ("ij,jk->ki", P("x"), P(None, "y")),
            ("bij,bjk->bik", P("x"), P("x", None, "y")),
            ("ij,kj->ik", P(None, ("x", "y")), P(None, ("x", "y"))),
            ("ij,jk->k", P("y"), P(None, "x")),
            ("ij,ij->", P("y", "x"), P("y", "x")),
            ("ij,j->ji", P("y", "x"), P("x")),
            ("ij,jk->ik", P(("y", "x")), P()),
            ("ij,jk->ik", P("data", "model"), P("model")),  # a name is one axis
        ]
        names = dict(zip("ijkb", rng.permutation(list("mnpq")), strict=True))
        renamed = str.maketrans(names)
        return [(s.translate(renamed), a, b) for s, a, b in drawn]

    def oracle(subscripts, left, right):
        m = mesh(2, 4)
        if "data" in (*left, *right):
            m = jax.sharding.Mesh(m.devices, ("data", "model"))
        operands, result = subscripts.split("->")
        arrays = [
            jax.device_put(np.zeros((8,) * len(o)), NamedSharding(m, spec))
            for o, spec in zip(operands.split(","), (left, right), strict=True)
        ]
        product = jax.jit(lambda a, b: jnp.einsum(subscripts, a, b))
        compiled = product.lower(*arrays).compile()
        spec = (*compiled.output_shardings.spec, *(None,) * len(result))
        found = traffic.read(str(compiled.as_text()), m)
        assert {c.op for c in found} <= {"all-reduce"}
        axes = {axis for c in found for axis in c.axes or ()}
        return P(*spec[: len(result)]), sorted(axes)

    check(cases, oracle=oracle, values="label")


def test_quiet_product(check):
    def cases(rng):
        drawn = []
        for sizes, spec in (
            ((2, 4), P("x", "y")),
            ((2, 2), P("y", "x")),
            ((2, 4), P(("y", "x"))),
            ((4, 2), P(None, "x")),
            ((2, 2), P()),
        ):
            m, k, n = (8 * int(i) for i in rng.permutation([1, 2, 3]))
            drawn.append(
                (normal(rng, m, k), normal(rng, k, n), mesh(*sizes), spec)
            )
        return drawn

    def oracle(a, b, mesh, spec):
        a, b = np.asarray(a), np.asarray(b)
        return a, b, a @ b

    check(cases, oracle=oracle, compare=("value", "placement"))


def test_known_to_all(check):
    def cases(rng):
        drawn = []
        each = [int(rng.integers(2, 5)) for _ in range(4)]
        for size, rows_each, k, n in (
            (8, each[0], 32, 8),
            (4, each[1], 8, 24),
            (8, each[2], 8, 16),
            (4, each[3], 32, 4),
            # Which of k and n is smaller does not tell which is smaller than m
            (4, 8, 16, 4),
            (4, 2, 8, 24),
            (4, 8, 4, 8),
        ):
            m = mesh(size)
            rows = size * rows_each
            x = jax.device_put(normal(rng, rows, k), NamedSharding(m, P("x")))
            w = jax.device_put(normal(rng, k, n), NamedSharding(m, P()))
            drawn.append((x, w, m))
        return drawn

    check(
        cases,
        oracle=lambda x, w, mesh: np.asarray(x) @ np.asarray(w),
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, w, mesh: Budget(
            {"all-gather"},
            sent("all-gather", len(x) * min(w.shape) * 4, mesh.size),
        ),
    )
