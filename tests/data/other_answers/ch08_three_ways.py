"""Other answers to the exercises of ch08_three_ways: right ones, known mistakes, and other wrong ones."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def mlp_by_constraints__right(x, w1, b1, w2, b2, mesh):
    # speak about the weights, and about where the sum shall lie: h follows
    w1 = lax.with_sharding_constraint(w1, NamedSharding(mesh, P(None, "model")))
    w2 = lax.with_sharding_constraint(w2, NamedSharding(mesh, P("model")))
    h = jnp.tanh(jnp.einsum("rf,fh->rh", x, w1) + b1)
    out = lax.with_sharding_constraint(jnp.einsum("rh,hf->rf", h, w2), NamedSharding(mesh, P("data")))
    return h, out + b2


def mlp_by_constraints__right_otherwise(x, w1, b1, w2, b2, mesh):
    # the layout of the results, and of the one input that is not clear from them
    def f(x, w1, b1, w2, b2):
        w2 = lax.with_sharding_constraint(w2, NamedSharding(mesh, P("model")))
        h = jnp.tanh(x @ w1 + b1)
        return h, h @ w2 + b2

    outs = (
        NamedSharding(mesh, P("data", "model")),
        NamedSharding(mesh, P("data")),
    )
    return jax.jit(f, out_shardings=outs)(x, w1, b1, w2, b2)


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, at(mesh, *spec))


def mlp_by_constraints__w1_by_rows(x, w1, b1, w2, b2, mesh):
    h = jnp.einsum("rf,fh->rh", x, lay(w1, mesh, ("model",))) + b1
    h = lay(jnp.tanh(h), mesh, "data", "model")
    return h, lay(jnp.dot(h, lay(w2, mesh, "model")) + b2, mesh, "data")


def _at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def _lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, _at(mesh, *spec))


def mlp_by_constraints__features_cut_as_well(x, w1, b1, w2, b2, mesh):
    x = _lay(x, mesh, "data", "model")
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ _lay(w2, mesh, "model", None) + b2, mesh, "data", None)


def mlp_by_constraints__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", None)
    out = _lay(h @ w2 + b2, mesh, "data", None)
    return _lay(h, mesh, "data", "model"), out


def mlp_by_hand__right(x, w1, b1, w2, b2, mesh):
    # by hand along "model" only: the rows are the compiler's
    @partial(
        jax.shard_map,
        mesh=mesh,
        axis_names={"model"},
        in_specs=(P(), P(None, "model"), P("model"), P("model", None), P()),
        out_specs=(P(None, "model"), P()),
    )
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, "model") + b2

    return part(x, w1, b1, w2, b2)


def mlp_by_hand__right_otherwise(x, w1, b1, w2, b2, mesh):
    def first(x, w1, b1):
        return jnp.tanh(x @ w1 + b1)

    def second(h, w2, b2):
        # the bias comes from one device only, so that the sum has it once
        return lax.psum(h @ w2 + jnp.where(lax.axis_index("model") == 0, b2, 0), "model")

    cut = P("data", "model")
    specs = P("data"), P(None, "model"), P("model")
    h = jax.shard_map(first, mesh=mesh, in_specs=specs, out_specs=cut)(x, w1, b1)
    specs = cut, P("model"), P()
    return h, jax.shard_map(second, mesh=mesh, in_specs=specs, out_specs=P("data"))(h, w2, b2)


def run(mesh, out, args, b1_cut=("model",), **options):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(jnp.dot(x, w1) + b1)
        return h, out(h, w2, b2)

    specs = P("data"), P(None, "model"), P(*b1_cut), P("model"), P(None)
    outs = P("data", "model"), P("data")
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=outs, **options)(*args)


def mlp_by_hand__no_psum(x, w1, b1, w2, b2, mesh):
    return run(mesh, lambda h, w2, b2: b2 + jnp.dot(h, w2), (x, w1, b1, w2, b2))


def mlp_by_hand__no_psum_unchecked(x, w1, b1, w2, b2, mesh):
    return run(
        mesh,
        lambda h, w2, b2: b2 + jnp.dot(h, w2),
        (x, w1, b1, w2, b2),
        check_vma=False,
    )


ROWS = P("data", None)


SPECS = ROWS, P(None, "model"), P("model"), P("model", None), P()


def _map(part, mesh, specs=SPECS, **options):
    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=specs,
        out_specs=(P("data", "model"), ROWS),
        **options,
    )


def mlp_by_hand__hidden_gathered(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.all_gather(h, "model", axis=1, tiled=True) @ w2 + b2

    return _map(part, mesh, (*SPECS[:3], P(), P()), check_vma=False)(x, w1, b1, w2, b2)


def mlp_by_hand__everything_everywhere(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        own = h.shape[1] // lax.axis_size("model")
        start = lax.axis_index("model") * own
        return lax.dynamic_slice_in_dim(h, start, own, 1), h @ w2 + b2

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("data"), P(), P(), P(), P()),
        out_specs=(P("data", "model"), P("data")),
    )(x, w1, b1, w2, b2)


def mlp_explicit__right(x, w1, b1, w2, b2, mesh):
    with jax.sharding.use_abstract_mesh(x.aval.sharding.mesh):
        h = jnp.einsum("rf,fh->rh", x, jax.reshard(w1, P(None, "model")))
        h = jnp.tanh(h + jax.reshard(b1, P("model")))
        w2 = jax.reshard(w2, P("model"))
        return h, jnp.einsum("rh,hf->rf", h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__right_otherwise(x, w1, b1, w2, b2, mesh):
    outs = (
        NamedSharding(mesh, P("data", "model")),
        NamedSharding(mesh, P("data", None)),
    )

    @jax.sharding.auto_axes
    def f(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, h @ w2 + b2

    w2 = jax.reshard(w2, NamedSharding(mesh, P("model")))
    return f(x, w1, b1, w2, b2, out_sharding=outs)


def mlp_explicit__constraint_instead(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(jnp.dot(x, w1) + b1)
    h = lax.with_sharding_constraint(h, at(mesh, *mesh.axis_names))
    return h, jnp.dot(h, w2) + b2


def cut(x, w1, b1, w2, mesh):
    w1, b1 = jax.reshard((w1, b1), (at(mesh, None, "model"), at(mesh, "model")))
    return jnp.tanh(jnp.dot(x, w1) + b1), jax.reshard(w2, at(mesh, "model"))


def mlp_explicit__hidden_gathered(x, w1, b1, w2, b2, mesh):
    h, _ = cut(x, w1, b1, w2, mesh)
    return h, jnp.dot(jax.reshard(h, x.aval.sharding), w2) + b2


def mlp_explicit__w2_by_columns(x, w1, b1, w2, b2, mesh):
    w1, w2 = jax.reshard((w1, w2), (_at(mesh, None, "model"), _at(mesh, None, "model")))
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=_at(mesh, "data", None)) + b2


def mlp_explicit__set_inside(x, w1, b1, w2, b2, mesh):
    jax.set_mesh(mesh)
    w1, w2 = (
        jax.reshard(w1, P(None, "model")),
        jax.reshard(w2, P("model", None)),
    )
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    out = h @ w2 + b2
    return jax.reshard(h, _at(mesh, "data", "model")), out


def collective_matmul__right(x, w, mesh):
    n = mesh.shape["x"]

    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(P("x"), P(None, "x")),
        out_specs=P(None, "x"),
    )
    def part(rows, w):
        size, me = len(rows), lax.axis_index("x")

        def place(out, rows, step):
            return lax.dynamic_update_slice_in_dim(out, rows @ w, (me + step) % n * size, 0)

        def turn(step, carry):
            out, rows = carry
            there = lax.ppermute(rows, "x", [((i + 1) % n, i) for i in range(n)])
            return place(out, rows, step), there

        out = lax.pcast(jnp.zeros((n * size, w.shape[1])), "x", to="varying")
        out, rows = lax.fori_loop(0, n - 1, turn, (out, rows))
        return place(out, rows, n - 1)

    return part(x, w)


def collective_matmul__right_otherwise(x, w, mesh):
    def part(rows, w):
        # in both directions: whole blocks, half as many steps
        n, me = lax.axis_size("x"), lax.axis_index("x")
        found, right, left = {0: rows @ w}, rows, rows
        for k in range(1, n // 2 + 1):
            right = lax.ppermute(right, "x", [(i, (i + 1) % n) for i in range(n)])
            found[-k % n] = right @ w  # of device me - k
            if k < n - k:
                left = lax.ppermute(left, "x", [(i, (i - 1) % n) for i in range(n)])
                found[k] = left @ w
        parts = jnp.stack([found[k] for k in range(n)])
        return jnp.roll(parts, me, axis=0).reshape(-1, w.shape[1])

    specs = P("x"), P(None, "x")
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(None, "x"))(x, w)


def collective_matmul__gathered(x, w, mesh):
    return jnp.dot(x, w, out_sharding=at(mesh, None, "x"))


def collective_matmul__never_sent(x, w, mesh):
    def part(rows, w):
        return jnp.tile(jnp.dot(rows, w), (lax.axis_size("x"), 1))

    specs = P("x"), P(None, "x")
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(None, "x"))(x, w)


def _ring(x, w, mesh, part, *out):
    out = P(*out or (None, "x"))
    return jax.shard_map(part, mesh=mesh, in_specs=(P("x", None), P(None, "x")), out_specs=out)(x, w)


def _around(mesh):
    n = mesh.size
    return n, [(i, (i + 1) % n) for i in range(n)]


def collective_matmul__last_rows_missing(x, w, mesh):
    n, around = _around(mesh)

    def part(rows, w):
        out = jnp.zeros((n, len(rows), w.shape[1]))
        for step in range(n - 1):
            out = out.at[(lax.axis_index("x") - step) % n].set(rows @ w)
            rows = lax.ppermute(rows, "x", around)
        return out.reshape(-1, w.shape[1])

    return _ring(x, w, mesh, part)


def collective_matmul__columns_travel(x, w, mesh):
    n, around = _around(mesh)

    def part(rows, w):
        out = jnp.zeros((n, len(rows), w.shape[1]))
        for step in range(n):
            out = out.at[(lax.axis_index("x") - step) % n].set(rows @ w)
            if step < n - 1:
                w = lax.ppermute(w, "x", around)
        return out.swapaxes(0, 1).reshape(len(rows), -1)

    return _ring(x, w, mesh, part, "x", None)


def collective_matmul__side_by_side(x, w, mesh):
    n, around = _around(mesh)

    def part(rows, w):
        found = [rows @ w]
        for _ in range(n - 1):
            rows = lax.ppermute(rows, "x", around)
            found.append(rows @ w)
        return jnp.concatenate(found, axis=1)

    return _ring(x, w, mesh, part)
