"""The known mistakes of ch08_three_ways, spelled differently."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, at(mesh, *spec))


def mlp_by_constraints__nothing_said(x, w1, b1, w2, b2, mesh):
    h = jax.device_put(jnp.tanh(jnp.dot(x, w1) + b1), at(mesh, "data", "model"))
    return h, lay(jnp.dot(h, w2) + b2, mesh, "data")


def mlp_by_constraints__w2_left_open(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(jnp.einsum("rf,fh->rh", x, lay(w1, mesh, None, "model")) + b1)
    return lay(h, mesh, "data", "model"), jnp.einsum("rh,hf->rf", h, w2) + b2


def mlp_by_constraints__w1_by_rows(x, w1, b1, w2, b2, mesh):
    h = jnp.einsum("rf,fh->rh", x, lay(w1, mesh, ("model",))) + b1
    h = lay(jnp.tanh(h), mesh, "data", "model")
    return h, lay(jnp.dot(h, lay(w2, mesh, "model")) + b2, mesh, "data")


def mlp_by_constraints__w2_by_columns(x, w1, b1, w2, b2, mesh):
    h = lay(jnp.tanh(jnp.dot(x, w1) + b1), mesh, "data", "model")
    return h, lay(jnp.dot(h, lay(w2, mesh, None, "model")) + b2, mesh, "data")


def mlp_by_constraints__out_cut_too(x, w1, b1, w2, b2, mesh):
    cut = at(mesh, *mesh.axis_names)
    h, w2 = (
        lax.with_sharding_constraint(jnp.tanh(x @ w1 + b1), cut),
        lay(w2, mesh, "model"),
    )
    return h, lax.with_sharding_constraint(jnp.dot(h, w2) + b2, cut)


def mlp_by_constraints__rows_forgotten(x, w1, b1, w2, b2, mesh):
    h = lay(jnp.tanh(jnp.dot(x, w1) + b1), mesh, None, ("model",))
    return h, lay(jnp.dot(h, lay(w2, mesh, "model")) + b2, mesh, None, None)


def run(mesh, out, args, b1_cut=("model",), **options):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(jnp.dot(x, w1) + b1)
        return h, out(h, w2, b2)

    specs = P("data"), P(None, "model"), P(*b1_cut), P("model"), P(None)
    outs = P("data", "model"), P("data")
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=outs, **options
    )(*args)


def mlp_by_hand__bias_in_every_part(x, w1, b1, w2, b2, mesh):
    def out(h, w2, b2):
        return lax.psum(h @ w2, "model") + lax.axis_size("model") * b2

    return run(mesh, out, (x, w1, b1, w2, b2))


def mlp_by_hand__no_psum(x, w1, b1, w2, b2, mesh):
    return run(mesh, lambda h, w2, b2: b2 + jnp.dot(h, w2), (x, w1, b1, w2, b2))


def mlp_by_hand__no_psum_unchecked(x, w1, b1, w2, b2, mesh):
    return run(
        mesh,
        lambda h, w2, b2: b2 + jnp.dot(h, w2),
        (x, w1, b1, w2, b2),
        check_vma=False,
    )


def mlp_by_hand__summed_over_data_too(x, w1, b1, w2, b2, mesh):
    def out(h, w2, b2):
        return b2 + lax.psum(jnp.dot(h, w2), mesh.axis_names)

    return run(mesh, out, (x, w1, b1, w2, b2))


def mlp_by_hand__hidden_summed(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(b1 + lax.psum(jnp.einsum("rf,fh->rh", x, w1), ("model",)))
        return h, b2 + lax.psum(h @ w2, ("model",))

    specs = P("data"), P(None, "model"), P("model"), P("model"), P()
    outs = P("data", "model"), P("data")
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=outs)(
        x, w1, b1, w2, b2
    )


def mlp_by_hand__bias_not_cut(x, w1, b1, w2, b2, mesh):
    def out(h, w2, b2):
        return b2 + lax.psum(h @ w2, "model")

    return run(mesh, out, (x, w1, b1, w2, b2), b1_cut=())


def mlp_by_hand__averaged(x, w1, b1, w2, b2, mesh):
    def each(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.pmean(h @ w2, "model") + b2

    cut = P(None, "model"), P("model"), P("model", None), P()
    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("data", None), *cut),
        out_specs=(P("data", "model"), P("data", None)),
    )(x, w1, b1, w2, b2)


def mlp_by_hand__copies_side_by_side(x, w1, b1, w2, b2, mesh):
    def each(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, b2 + lax.psum(jnp.dot(h, w2), ("model",))

    cut = P(None, "model"), P("model"), P("model", None), P()
    return jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P("data", None), *cut),
        out_specs=P("data", "model"),
    )(x, w1, b1, w2, b2)


def mlp_explicit__nothing_cut(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(jnp.dot(x, w1, out_sharding=at(mesh, "data", None)) + b1)
    return h, jnp.dot(h, w2, out_sharding=at(mesh, "data", None)) + b2


def mlp_explicit__constraint_instead(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(jnp.dot(x, w1) + b1)
    h = lax.with_sharding_constraint(h, at(mesh, *mesh.axis_names))
    return h, jnp.dot(h, w2) + b2


def cut(x, w1, b1, w2, mesh):
    w1, b1 = jax.reshard((w1, b1), (at(mesh, None, "model"), at(mesh, "model")))
    return jnp.tanh(jnp.dot(x, w1) + b1), jax.reshard(w2, at(mesh, "model"))


def mlp_explicit__no_out_sharding(x, w1, b1, w2, b2, mesh):
    h, w2 = cut(x, w1, b1, w2, mesh)
    return h, jax.reshard(jnp.dot(h, w2), at(mesh, "data")) + b2


def mlp_explicit__spec_alone(x, w1, b1, w2, b2, mesh):
    h, w2 = cut(x, w1, b1, w2, mesh)
    return h, jnp.einsum("rh,hf->rf", h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__hidden_gathered(x, w1, b1, w2, b2, mesh):
    h, _ = cut(x, w1, b1, w2, mesh)
    return h, jnp.dot(jax.reshard(h, x.aval.sharding), w2) + b2


def mlp_explicit__everywhere(x, w1, b1, w2, b2, mesh):
    h, w2 = cut(x, w1, b1, w2, mesh)
    return h, jnp.einsum(
        "rh,hf->rf", h, w2, out_sharding=at(mesh, None, None)
    ) + b2


def ring(x, w, mesh, finish, scale=1):
    n = mesh.size
    around = [(i, (i + scale) % n) for i in range(n)]

    def part(rows, w):
        arrived = [rows]
        for _ in range(n - 1):
            arrived.append(lax.ppermute(arrived[-1], "x", around))
        return finish(arrived, w)

    specs = P("x"), P(None, "x")
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=P(None, "x")
    )(x, w)


def collective_matmul__gathered(x, w, mesh):
    return jnp.dot(x, w, out_sharding=at(mesh, None, "x"))


def collective_matmul__gathered_by_permutes(x, w, mesh):
    def finish(arrived, w):
        whole = jnp.roll(
            jnp.stack(arrived[::-1]), lax.axis_index("x") + 1, axis=0
        )
        return whole.reshape(-1, w.shape[0]) @ w

    return ring(x, w, mesh, finish)


def collective_matmul__own_rows_then_the_rest(x, w, mesh):
    def finish(arrived, w):
        rest = jnp.concatenate(arrived[1:]) @ w
        found = jnp.concatenate([arrived[0] @ w, rest])
        found = found.reshape(len(arrived), -1, w.shape[1])[::-1]
        place = lax.axis_index("x") + 1
        return jnp.roll(found, place, axis=0).reshape(-1, w.shape[1])

    return ring(x, w, mesh, finish)


def collective_matmul__waits_in_every_turn(x, w, mesh):
    n = mesh.size

    def part(rows, w):
        def turn(rows, _):
            rows = lax.ppermute(rows, "x", [(i, (i - 1) % n) for i in range(n)])
            return rows, rows @ w

        _, found = lax.scan(turn, rows, length=n - 1)
        found = jnp.concatenate([(rows @ w)[None], found])
        found = jnp.roll(found, lax.axis_index("x"), axis=0)
        return found.reshape(-1, w.shape[1])

    specs = P("x"), P(None, "x")
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=P(None, "x")
    )(x, w)


def collective_matmul__in_order_of_arrival(x, w, mesh):
    return ring(x, w, mesh, lambda arrived, w: jnp.concatenate(arrived) @ w)


def collective_matmul__wrong_owner(x, w, mesh):
    def finish(arrived, w):
        parts = jnp.roll(jnp.stack(arrived) @ w, lax.axis_index("x"), axis=0)
        return parts.reshape(-1, w.shape[1])

    return ring(x, w, mesh, finish)


def collective_matmul__one_turn_too_many(x, w, mesh):
    n = mesh.size

    def part(rows, w):
        def turn(rows, step):
            sent = lax.ppermute(rows, "x", [(i, (i + 1) % n) for i in range(n)])
            return sent, rows @ w

        _, found = lax.scan(turn, rows, jnp.arange(n))
        owners = (lax.axis_index("x") - jnp.arange(n)) % n
        return found[owners].reshape(-1, w.shape[1])

    specs = P("x"), P(None, "x")
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=P(None, "x")
    )(x, w)


def collective_matmul__never_sent(x, w, mesh):
    def part(rows, w):
        return jnp.tile(jnp.dot(rows, w), (lax.axis_size("x"), 1))

    specs = P("x"), P(None, "x")
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=P(None, "x")
    )(x, w)


def collective_matmul__added_up(x, w, mesh):
    def finish(arrived, w):
        return jnp.concatenate([sum(arrived) @ w] * len(arrived))

    return ring(x, w, mesh, finish)
