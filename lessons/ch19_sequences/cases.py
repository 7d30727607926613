"""Every way for four shapes: by formula, as compiled, and what it takes."""

from operator import gt

import jax
import jax.numpy as jnp
import numpy as np
from bill import compiled, cut, figures, with_gradient
from jax import NamedSharding, P
from jax.sharding import AxisType
from ring import ring
from ring_vjp import ring_vjp
from ways import gathered, ulysses
from zigzag import zigzag

WAYS = {
    "gathered": gathered,
    "ulysses": ulysses,
    "ring": ring,
    "ring_vjp": ring_vjp,
    "zigzag": zigzag,
}
CASES = [  # heads of q, of k; positions; sequences; the mesh
    (8, 8, 512, 2, {"s": 8}),
    (16, 8, 1024, 1, {"s": 8}),
    (8, 2, 512, 4, {"data": 2, "s": 4}),
    (4, 4, 512, 2, {"s": 8}),
]


def rows(sends, works):
    """Lines, a table for each case, in order.

    sends(q, kv, n) and works(n): the formulas, by way. AssertionError where
    bytes or products are not those of the compiled programs, or where a
    program has less beside its arrays than the scores alone.
    """
    for heads, groups, length, batch, axes in CASES:
        kinds = (AxisType.Auto,) * len(axes)
        mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), kinds)
        data = "data" if "data" in axes else None
        place = NamedSharding(mesh, P(data, "s"))
        shapes = [
            (batch, length, h, 32) for h in (heads, groups, groups, heads)
        ]
        arrays = [
            jax.ShapeDtypeStruct(s, jnp.float32, sharding=place) for s in shapes
        ]
        q, kv = (4 * a.size // mesh.size for a in arrays[:2])
        formula, shares = sends(q, kv, axes["s"]), works(axes["s"])
        pairs = batch * heads * length**2 // mesh.size  # of a device
        yield (
            f"{heads}/{groups} heads, {length} positions, batch {batch}, {axes}"
        )
        yield (
            "                 sent (bytes)    beside (KiB)"
            "    scores (KiB)         MFLOP"
        )
        for name, way in WAYS.items():
            f = cut(way, mesh, data)
            try:
                programs = (
                    compiled(f, *arrays[:3]),
                    compiled(with_gradient(f), *arrays),
                )
            except ValueError as error:
                yield f"  {name:9} {str(error)[:64]}"
                continue
            sent, beside, flops = zip(*map(figures, programs), strict=True)
            products = [4 * 32 * pairs * n / 1e6 for n in shares[name][:2]]
            scores = [4 * pairs * n / 2**10 for n in shares[name][2:]]
            assert sent == formula[name], (name, sent, formula)
            assert np.allclose(flops, products), (name, flops, products)
            assert all(map(gt, beside, scores)), (name, beside, scores)
            yield "".join(
                (
                    f"  {name:9}",
                    *(f"{n:10,}" for n in sent),
                    *(f"{n:8,.0f}" for n in (*beside, *scores)),
                    *(f"{n:7.1f}" for n in flops),
                )
            )
