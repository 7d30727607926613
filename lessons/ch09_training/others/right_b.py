"""Right, written another way again: a dimension for the devices, and the compiler sums over it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import NamedSharding


def _by_device(x, mesh, axis=0):
    """[..., rows, ...] to [..., devices, rows of one, ...], without moving anything."""
    shape = (
        *x.shape[:axis],
        mesh.size,
        x.shape[axis] // mesh.size,
        *x.shape[axis + 1 :],
    )
    return x.reshape(
        shape, out_sharding=NamedSharding(mesh, P(*[None] * axis, "data"))
    )


def dropout_step(loss, params, x, y, seed, rate, mesh):
    key = jax.random.key(seed)

    def mean_loss(p, x, y):
        def own(p, x, y):
            return loss(
                p, x, y, jax.random.fold_in(key, lax.axis_index("data"))
            )[None]

        specs = {
            "in_specs": (P(), P("data"), P("data")),
            "out_specs": P("data"),
        }
        return jnp.mean(jax.shard_map(own, mesh=mesh, **specs)(p, x, y))

    value, gradient = jax.value_and_grad(mean_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value


def shard_to_fit(params, mesh, limit):
    n = mesh.size
    spec = {k: P() for k in params}
    rest = dict(params)
    while (
        sum(
            w.nbytes // (n if "data" in spec[k] else 1)
            for k, w in params.items()
        )
        > limit
    ):
        name = max(rest, key=lambda k: rest[k].nbytes)
        shape = rest.pop(name).shape
        where = next((i for i in range(len(shape)) if shape[i] % n == 0), None)
        if where is not None:
            spec[name] = P(
                *("data" if i == where else None for i in range(len(shape)))
            )
    return {
        k: jax.make_array_from_callback(
            w.shape,
            NamedSharding(mesh, spec[k]),
            lambda i, w=w: np.asarray(w)[i],
        )
        for k, w in params.items()
    }


def gated_mlp(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        both = x @ jnp.concatenate([gate, up], axis=1)
        a, b = jnp.split(both, 2, axis=1)
        share = (x + bias) / mesh.shape["model"]
        return lax.psum(share + a / (1 + jnp.exp(-a)) * b @ down, "model")

    columns = P(None, "model")
    specs = {
        "in_specs": (P("data"), columns, columns, P("model"), P()),
        "out_specs": P("data"),
    }
    return jax.shard_map(block, mesh=mesh, **specs)(x, gate, up, down, bias)


def accumulated_gradient(losses, params, x, y, real, mesh):
    cut = [_by_device(a, mesh, 1) for a in (x, y, real)]
    copies = jax.tree.map(
        lambda p: lax.broadcast_in_dim(
            p,
            (mesh.size, *p.shape),
            range(1, p.ndim + 1),
            out_sharding=NamedSharding(mesh, P("data")),
        ),
        params,
    )

    def weighted(p, x, y, m):
        return jnp.vdot(losses(p, x, y), m)

    each = jax.vmap(jax.grad(weighted))

    def add(total, batch):
        return jax.tree.map(jnp.add, total, each(copies, *batch)), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, copies), tuple(cut))
    rows = real.sum()
    return jax.tree.map(lambda g: g.sum(0) / rows, total)
