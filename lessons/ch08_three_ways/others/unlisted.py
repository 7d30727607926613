"""Wrong answers of ch08_three_ways that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def _lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, _at(mesh, *spec))


def mlp_by_constraints__second_bias_missing(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ _lay(w2, mesh, "model", None), mesh, "data", None)


def mlp_by_constraints__only_out(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return _lay(h @ _lay(w2, mesh, "model", None) + b2, mesh, "data", None)


def mlp_by_constraints__names_without_mesh(x, w1, b1, w2, b2, mesh):
    h = lax.with_sharding_constraint(jnp.tanh(x @ w1 + b1), P("data", "model"))
    return h, lax.with_sharding_constraint(h @ w2 + b2, P("data", None))


def mlp_by_constraints__features_cut_as_well(x, w1, b1, w2, b2, mesh):
    x = _lay(x, mesh, "data", "model")
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ _lay(w2, mesh, "model", None) + b2, mesh, "data", None)


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


def mlp_by_hand__w2_cut_like_w1(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, "model") + b2

    return _map(part, mesh, (*SPECS[:3], P(None, "model"), P()))(
        x, w1, b1, w2, b2
    )


def mlp_by_hand__hidden_gathered(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.all_gather(h, "model", axis=1, tiled=True) @ w2 + b2

    return _map(part, mesh, (*SPECS[:3], P(), P()), check_vma=False)(
        x, w1, b1, w2, b2
    )


def mlp_explicit__out_cut_over_model(x, w1, b1, w2, b2, mesh):
    w1, w2 = jax.reshard(
        (w1, w2), (_at(mesh, None, "model"), _at(mesh, "model", None))
    )
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=_at(mesh, "data", "model")) + b2


def mlp_explicit__w2_by_columns(x, w1, b1, w2, b2, mesh):
    w1, w2 = jax.reshard(
        (w1, w2), (_at(mesh, None, "model"), _at(mesh, None, "model"))
    )
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


def mlp_explicit__tanh_forgotten(x, w1, b1, w2, b2, mesh):
    w1, w2 = jax.reshard(
        (w1, w2), (_at(mesh, None, "model"), _at(mesh, "model", None))
    )
    h = x @ w1 + b1
    return h, jnp.dot(h, w2, out_sharding=_at(mesh, "data", None)) + b2


def _ring(x, w, mesh, part, *out):
    out = P(*out or (None, "x"))
    return jax.shard_map(
        part, mesh=mesh, in_specs=(P("x", None), P(None, "x")), out_specs=out
    )(x, w)


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


def mlp_by_constraints__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", None)
    out = _lay(h @ w2 + b2, mesh, "data", None)
    return _lay(h, mesh, "data", "model"), out


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


def mlp_explicit__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    out = h @ w2 + b2
    return jax.reshard(h, _at(mesh, "data", "model")), out
