"""Right, written another way again: a dimension for the devices, and the compiler sums over it."""

from collections import OrderedDict

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


def two_steps_in_one_memory(update, state, batch):
    names = list(state)
    layouts = [state[name].sharding for name in names]

    def flat(batch, *arrays):
        new = update(OrderedDict(zip(names, arrays, strict=True)), batch)
        return [
            lax.with_sharding_constraint(new[n], s)
            for n, s in zip(names, layouts, strict=True)
        ]

    donated = tuple(range(1, len(names) + 1))
    step = jax.jit(flat, donate_argnums=donated, out_shardings=layouts)
    arrays = [state[name] for name in names]
    memory = step.lower(batch, *arrays).compile().memory_analysis()
    assert memory is not None
    arrays = step(batch, *step(batch, *arrays))
    return dict(zip(names, arrays, strict=True)), int(
        np.sum([memory.alias_size_in_bytes])
    )


def fsdp_step(loss, params, x, y, rate, mesh):
    """Gathered at the gradient's entrance: JAX turns the gather round."""
    cut = {k: len(w) % mesh.size == 0 for k, w in params.items()}
    specs = jax.tree.map(lambda c: P("data") if c else P(), cut)

    def step(params, x, y):
        def one(w, c):
            return lax.all_gather(w, "data", tiled=True) if c else w

        def gather(p):
            return jax.tree.map(one, p, cut)

        whole, back = jax.vjp(gather, params)
        value, pull = jax.vjp(lambda p: lax.pmean(loss(p, x, y), "data"), whole)
        (gradient,) = pull(jnp.ones_like(value))
        (gradient,) = back(gradient)
        return jax.tree.map(lambda p, g: p - g * rate, params, gradient), value

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
    )(params, x, y)


def through_stages(layer, weights, x, mesh):
    """A loop that writes each finished microbatch into its place; around a ring."""
    n, parts = mesh.shape["stage"], x.shape[0]
    around = [(i, (i + 1) % n) for i in range(n)]

    def device(w, x):
        me = lax.axis_index("stage")

        def turn(t, carry):
            came, done = carry
            mine = lax.dynamic_index_in_dim(
                x, jnp.clip(t, 0, parts - 1), 0, False
            )
            out = layer(w[0], lax.select(me == 0, mine, came))
            at = t - (n - 1)
            kept = jnp.where((at >= 0) & (me == n - 1), out, 0.0)
            done = lax.dynamic_update_index_in_dim(
                done, kept, jnp.maximum(at, 0), 0
            )
            return lax.ppermute(out, "stage", around), done

        start = jnp.zeros_like(x[0]), jnp.zeros_like(x)
        _, done = lax.fori_loop(0, parts + n - 1, turn, start)
        return lax.psum(done, "stage")

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)
