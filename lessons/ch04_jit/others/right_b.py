"""Right, written another way again: shard_map, constraints in a loop."""

import jax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def quiet_product(a, b, mesh, spec):
    full = NamedSharding(mesh, P(*spec, *[None] * (2 - len(spec)))).spec
    a, b = jax.device_put(
        (a, b),
        (
            NamedSharding(mesh, P(full[0])),
            NamedSharding(mesh, P(None, full[1])),
        ),
    )
    multiply = jax.shard_map(
        lambda a, b: a @ b,
        mesh=mesh,
        in_specs=(a.sharding.spec, b.sharding.spec),
        out_specs=spec,
    )
    return a, b, multiply(a, b)


def known_to_all(x, w, mesh):
    def local(x, w):
        if x.shape[1] < w.shape[1]:
            return lax.all_gather(x, "x", tiled=True) @ w
        return lax.all_gather(x @ w, "x", tiled=True)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False
    )(x, w)
