"""Known wrong answers of ch08_three_ways; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

SPECS = P("data", None), P(None, "model"), P("model"), P("model", None), P()
OUTS = P("data", "model"), P("data", None)


def _lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def _move(x, mesh, *spec):
    return jax.reshard(x, NamedSharding(mesh, P(*spec)))


def _map(part, mesh, specs=SPECS, outs=OUTS, **options):
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=outs, **options
    )


def mlp_by_constraints__nothing_said(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    return h, h @ w2 + b2


def mlp_by_constraints__w2_left_open(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ w2 + b2, mesh, "data", None)


def mlp_by_constraints__w1_by_rows(x, w1, b1, w2, b2, mesh):
    w1, w2 = _lay(w1, mesh, "model", None), _lay(w2, mesh, "model", None)
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ w2 + b2, mesh, "data", None)


def mlp_by_constraints__w2_by_columns(x, w1, b1, w2, b2, mesh):
    w1, w2 = _lay(w1, mesh, None, "model"), _lay(w2, mesh, None, "model")
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ w2 + b2, mesh, "data", None)


def mlp_by_constraints__out_cut_too(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    w2 = _lay(w2, mesh, "model", None)
    return h, _lay(h @ w2 + b2, mesh, "data", "model")


def mlp_by_constraints__rows_forgotten(x, w1, b1, w2, b2, mesh):
    w2 = _lay(w2, mesh, "model", None)
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, None, "model")
    return h, _lay(h @ w2 + b2, mesh)


def mlp_by_hand__bias_in_every_part(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2 + b2, "model")

    return _map(part, mesh)(x, w1, b1, w2, b2)


def mlp_by_hand__no_psum(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, h @ w2 + b2

    return _map(part, mesh)(x, w1, b1, w2, b2)


def mlp_by_hand__no_psum_unchecked(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, h @ w2 + b2

    return _map(part, mesh, check_vma=False)(x, w1, b1, w2, b2)


def mlp_by_hand__summed_over_data_too(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, ("data", "model")) + b2

    return _map(part, mesh)(x, w1, b1, w2, b2)


def mlp_by_hand__hidden_summed(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(lax.psum(x @ w1, "model") + b1)
        return h, lax.psum(h @ w2, "model") + b2

    return _map(part, mesh)(x, w1, b1, w2, b2)


def mlp_by_hand__bias_not_cut(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, "model") + b2

    specs = P("data", None), P(None, "model"), P(), P("model", None), P()
    return _map(part, mesh, specs)(x, w1, b1, w2, b2)


def mlp_by_hand__averaged(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.pmean(h @ w2, "model") + b2

    return _map(part, mesh)(x, w1, b1, w2, b2)


def mlp_by_hand__copies_side_by_side(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, "model") + b2

    outs = P("data", "model"), P("data", "model")
    return _map(part, mesh, outs=outs)(x, w1, b1, w2, b2)


def mlp_explicit__nothing_cut(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    return h, h @ w2 + b2


def mlp_explicit__constraint_instead(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", "model")
    return h, _lay(h @ w2 + b2, mesh, "data", None)


def mlp_explicit__no_out_sharding(x, w1, b1, w2, b2, mesh):
    w1, w2 = _move(w1, mesh, None, "model"), _move(w2, mesh, "model", None)
    h = jnp.tanh(x @ w1 + b1)
    return h, h @ w2 + b2


def mlp_explicit__spec_alone(x, w1, b1, w2, b2, mesh):
    w1, w2 = _move(w1, mesh, None, "model"), _move(w2, mesh, "model", None)
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__hidden_gathered(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ _move(w1, mesh, None, "model") + b1)
    return h, _move(h, mesh, "data", None) @ w2 + b2


def mlp_explicit__everywhere(x, w1, b1, w2, b2, mesh):
    w1, w2 = _move(w1, mesh, None, "model"), _move(w2, mesh, "model", None)
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=NamedSharding(mesh, P())) + b2


def _ring(x, w, mesh, part):
    n = mesh.shape["x"]
    around = [(i, (i + 1) % n) for i in range(n)]
    specs = P("x", None), P(None, "x")

    def whole(rows, w):
        return part(rows, w, n, lambda rows: lax.ppermute(rows, "x", around))

    return _map(whole, mesh, specs, P(None, "x"))(x, w)


def collective_matmul__gathered(x, w, mesh):
    def part(rows, w, n, send):
        return lax.all_gather(rows, "x", tiled=True) @ w

    return _ring(x, w, mesh, part)


def collective_matmul__gathered_by_permutes(x, w, mesh):
    def part(rows, w, n, send):
        whole = jnp.zeros((n, *rows.shape))
        for step in range(n):
            whole = whole.at[(lax.axis_index("x") - step) % n].set(rows)
            if step < n - 1:
                rows = send(rows)
        return whole.reshape(-1, rows.shape[1]) @ w

    return _ring(x, w, mesh, part)


def collective_matmul__own_rows_then_the_rest(x, w, mesh):
    def part(rows, w, n, send):
        found, arrived = rows @ w, []
        for _ in range(n - 1):
            rows = send(rows)
            arrived.append(rows)
        found = jnp.concatenate([found[None], jnp.stack(arrived) @ w])
        owners = (lax.axis_index("x") - jnp.arange(n)) % n
        return found[owners].reshape(-1, w.shape[1])

    return _ring(x, w, mesh, part)


def collective_matmul__waits_in_every_turn(x, w, mesh):
    def part(rows, w, n, send):
        def turn(step, carry):
            out, rows = carry
            rows = send(rows)
            owner = (lax.axis_index("x") - step) % n
            return out.at[owner].set(rows @ w), rows

        found = rows @ w
        out = jnp.zeros((n, *found.shape)) + 0 * found
        out = out.at[lax.axis_index("x")].set(found)
        out, _ = lax.fori_loop(1, n, turn, (out, rows))
        return out.reshape(-1, w.shape[1])

    return _ring(x, w, mesh, part)


def collective_matmul__in_order_of_arrival(x, w, mesh):
    def part(rows, w, n, send):
        found = [rows @ w]
        for _ in range(n - 1):
            rows = send(rows)
            found.append(rows @ w)
        return jnp.concatenate(found)

    return _ring(x, w, mesh, part)


def collective_matmul__wrong_owner(x, w, mesh):
    def part(rows, w, n, send):
        out = jnp.zeros((n, len(rows), w.shape[1]))
        for step in range(n):
            out = out.at[(lax.axis_index("x") + step) % n].set(rows @ w)
            rows = send(rows)
        return out.reshape(-1, w.shape[1])

    return _ring(x, w, mesh, part)


def collective_matmul__one_turn_too_many(x, w, mesh):
    def part(rows, w, n, send):
        def turn(step, carry):
            out, rows = carry
            owner = (lax.axis_index("x") - step) % n
            return out.at[owner].set(rows @ w), send(rows)

        out = jnp.zeros((n, len(rows), w.shape[1])) + 0 * (rows @ w)
        out, _ = lax.fori_loop(0, n, turn, (out, rows))
        return out.reshape(-1, w.shape[1])

    return _ring(x, w, mesh, part)


def collective_matmul__never_sent(x, w, mesh):
    def part(rows, w, n, send):
        return jnp.concatenate([rows @ w] * n)

    return _ring(x, w, mesh, part)


def collective_matmul__added_up(x, w, mesh):
    def part(rows, w, n, send):
        total = rows @ w
        for _ in range(n - 1):
            rows = send(rows)
            total += rows @ w
        return jnp.tile(total, (n, 1))

    return _ring(x, w, mesh, part)
