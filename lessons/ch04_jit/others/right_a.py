"""Right, written another way: ask the compiler, constrain inside the function, donate by name."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import traffic


def product_layout(subscripts, left, right):
    """Compile it and look."""
    names = sorted(set(jax.tree.leaves([tuple(left), tuple(right)])))
    sizes, types = (2,) * len(names), (AxisType.Auto,) * len(names)
    mesh = jax.make_mesh(sizes, tuple(names), axis_types=types)
    operands, result = subscripts.split("->")
    shapes = [
        jax.ShapeDtypeStruct(
            (16,) * len(letters),
            jnp.float32,
            sharding=NamedSharding(mesh, spec),
        )
        for letters, spec in zip(
            operands.split(","), (left, right), strict=True
        )
    ]
    compiled = (
        jax.jit(lambda a, b: jnp.einsum(subscripts, a, b))
        .lower(*shapes)
        .compile()
    )
    spec = tuple(compiled.output_shardings.spec)
    axes = [
        axis
        for c in traffic.read(str(compiled.as_text()), mesh)
        for axis in c.axes or ()
    ]
    return P(*spec, *[None] * (len(result) - len(spec))), sorted(set(axes))


def quiet_product(a, b, mesh, spec):
    rows = spec[0] if len(spec) > 0 else None
    columns = spec[1] if len(spec) > 1 else None
    left, right = (
        NamedSharding(mesh, P(rows)),
        NamedSharding(mesh, P(None, columns)),
    )
    alone_a, alone_b = np.asarray(a), np.asarray(b)
    a = jax.make_array_from_callback(
        a.shape, left, lambda index: alone_a[index]
    )
    b = jax.make_array_from_callback(
        b.shape, right, lambda index: alone_b[index]
    )
    return (
        a,
        b,
        jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))(a, b),
    )


def known_to_all(x, w, mesh):
    def gather(y):
        y = jax.lax.with_sharding_constraint(
            y, NamedSharding(mesh, P("x", None))
        )
        return jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P()))

    return gather(x @ w) if w.shape[1] < w.shape[0] else jnp.dot(gather(x), w)
