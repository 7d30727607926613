"""Every way for four shapes: by formula, as compiled, and what it takes."""

import jax
import jax.numpy as jnp
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


def rows(sends):
    """A line each, in order; sends(q, kv, n): the formulas, {way: (forward,
    with the gradient)}. AssertionError where one is not what is compiled."""
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
        formula = sends(q, kv, axes["s"])
        yield (
            f"{heads}/{groups} heads, {length} positions, batch {batch}, {axes}"
        )
        yield "            sent, forward     and back    beside (KiB)     MFLOP"
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
            (sent, one, flops), (both, two, more) = (
                figures(p) for p in programs
            )
            assert (sent, both) == formula[name], (name, sent, both, formula)
            yield (
                f"  {name:9} {sent:13,} {both:12,} {one:7,.0f} {two:7,.0f}"
                f" {flops:6.1f} {more:6.1f}"
            )
