"""Known wrong answers of ch20_serving, as code; words.toml explains them."""

import math

import jax
import jax.numpy as jnp
from jax import P, lax

LOW = -1e30


def _attend(q, k, v, filled, mesh, combine, low=LOW):
    """combine: of scores and values, what on_each returns."""

    def on_each(q, k, v, filled):
        at = lax.axis_index("s") * k.shape[1] + jnp.arange(k.shape[1])
        scores = jnp.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        return combine(jnp.where(at < filled, scores, low), v)

    cut = P(None, "s")
    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


def _part(scores, v):
    top = scores.max(-1, keepdims=True)
    weights = jnp.where(scores > LOW, jnp.exp(scores - top), 0)
    values = jnp.einsum("bht,bthd->bhd", weights, v)
    return values, top, weights.sum(-1, keepdims=True)


def _part_of_all(scores, v):
    """Where a device sees nothing, all of its weights are 1."""
    top = scores.max(-1, keepdims=True)
    weights = jnp.exp(scores - top)
    values = jnp.einsum("bht,bthd->bhd", weights, v)
    return values, top, weights.sum(-1, keepdims=True)


def attend_cut__mean(q, k, v, filled, mesh):
    def combine(scores, v):
        values, _, total = _part_of_all(scores, v)
        return lax.pmean(values / total, "s")

    return _attend(q, k, v, filled, mesh, combine)


def _as_they_are(part):
    def combine(scores, v):
        values, _, total = part(scores, v)
        values, total = lax.psum((values, total), "s")
        return values / total

    return combine


def attend_cut__as_they_are(q, k, v, filled, mesh):
    return _attend(q, k, v, filled, mesh, _as_they_are(_part))


def attend_cut__of_all_as_they_are(q, k, v, filled, mesh):
    return _attend(q, k, v, filled, mesh, _as_they_are(_part_of_all))


def attend_cut__sums_not_rescaled(q, k, v, filled, mesh):
    def combine(scores, v):
        values, top, total = _part_of_all(scores, v)
        scale = jnp.exp(top - lax.pmax(top, "s"))
        values, total = lax.psum((values * scale, total), "s")
        return values / total

    return _attend(q, k, v, filled, mesh, combine)


def attend_cut__nothing_seen(q, k, v, filled, mesh):
    def combine(scores, v):
        values, top, total = _part_of_all(scores, v)
        scale = jnp.exp(top - lax.pmax(top, "s"))
        values, total = lax.psum((values * scale, total * scale), "s")
        return values / total

    return _attend(q, k, v, filled, mesh, combine, low=-jnp.inf)


def _combined(scores, v):
    top = lax.pmax(scores.max(-1, keepdims=True), "s")
    weights = jnp.exp(scores - top)
    values = jnp.einsum("bht,bthd->bhd", weights, v)
    values, total = lax.psum((values, weights.sum(-1, keepdims=True)), "s")
    return values / total


def attend_cut__all_seen(q, k, v, filled, mesh):
    return _attend(q, k, v, jnp.int32(k.shape[1]), mesh, _combined)


def attend_cut__gathered(q, k, v, filled, mesh):
    def on_each(q, k, v, filled):
        k, v = (lax.all_gather(x, "s", axis=1, tiled=True) for x in (k, v))
        scores = jnp.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        seen = jnp.arange(k.shape[1]) < filled
        weights = jax.nn.softmax(jnp.where(seen, scores, LOW))
        return jnp.einsum("bht,bthd->bhd", weights, v)

    cut = P(None, "s")
    return jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(P(), cut, cut, P()),
        out_specs=P(),
        check_vma=False,
    )(q, k, v, filled)


def attend_cut__not_scaled(q, k, v, filled, mesh):
    return _attend(q * q.shape[-1] ** 0.5, k, v, filled, mesh, _combined)


def attend_cut__own_rows(q, k, v, filled, mesh):
    def on_each(q, k, v, filled):
        scores = jnp.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        seen = jnp.arange(k.shape[1]) < filled
        return _combined(jnp.where(seen, scores, LOW), v)

    cut = P(None, "s")
    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


def attend_cut__mean_of_seeing(q, k, v, filled, mesh):
    def combine(scores, v):
        values, top, total = _part_of_all(scores, v)
        sees = (top > LOW).any().astype(values.dtype)
        return lax.psum(values / total * sees, "s") / lax.psum(sees, "s")

    return _attend(q, k, v, filled, mesh, combine)


def _written(cache, new, at, mesh, write):
    """write(cache, new, row): row is counted from the device's first."""

    def on_each(cache, new, at):
        return write(cache, new, at - lax.axis_index("s") * cache.shape[0])

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s")
    )(cache, new, at)


def write_token__clipped(cache, new, at, mesh):
    def write(cache, new, row):
        return cache.at[jnp.clip(row, 0, len(cache) - 1)].set(new)

    return _written(cache, new, at, mesh, write)


def write_token__everyone(cache, new, at, mesh):
    def write(cache, new, row):
        return cache.at[row % len(cache)].set(new)

    return _written(cache, new, at, mesh, write)


def write_token__negative(cache, new, at, mesh):
    def write(cache, new, row):
        return cache.at[row].set(new, mode="drop")

    return _written(cache, new, at, mesh, write)


def write_token__whole_position(cache, new, at, mesh):
    def on_each(cache, new, at):
        return cache.at[at].set(new, mode="drop")

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s")
    )(cache, new, at)


def write_token__others_lost(cache, new, at, mesh):
    def write(cache, new, row):
        mine = (row >= 0) & (row < len(cache))
        row = jnp.clip(row, 0, len(cache) - 1)
        return cache.at[row].set(jnp.where(mine, new, 0))

    return _written(cache, new, at, mesh, write)


def write_token__added(cache, new, at, mesh):
    def write(cache, new, row):
        mine = (row >= 0) & (row < len(cache))
        row = jnp.clip(row, 0, len(cache) - 1)
        return cache.at[row].add(jnp.where(mine, new, 0))

    return _written(cache, new, at, mesh, write)


def write_token__moved_until_it_fits(cache, new, at, mesh):
    def write(cache, new, row):
        row = jnp.where(row < 0, row + len(cache), row)
        return cache.at[jnp.clip(row, 0, len(cache) - 1)].set(new)

    return _written(cache, new, at, mesh, write)


def write_token__in_turn(cache, new, at, mesh):
    def on_each(cache, new, at):
        here = lax.axis_index("s") + jnp.arange(len(cache)) * mesh.size == at
        return jnp.where(here[:, None, None], new, cache)

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s")
    )(cache, new, at)


def _repeated(a, h):
    return jnp.repeat(a, h // a.shape[2], axis=2)


def _tiled(a, h):
    return jnp.tile(a, (1, 1, h // a.shape[2], 1))


def _step(
    x,
    w,
    k,
    v,
    at,
    mesh,
    seen=lambda t, at: t <= at,
    first=True,
    choose=_repeated,
    normalised=jax.nn.softmax,
    join=lax.psum,
):
    def on_each(x, w, k, v, at):
        q, new_k, new_v = (
            jnp.einsum("bD,Dhd->bhd", x, w[name]) for name in "qkv"
        )
        old = k, v
        k, v = k.at[:, at].set(new_k), v.at[:, at].set(new_v)
        use_k, use_v = (k, v) if first else old
        use_k, use_v = (choose(a, q.shape[1]) for a in (use_k, use_v))
        scores = jnp.einsum("bhd,bthd->bht", q, use_k) * q.shape[-1] ** -0.5
        mask = seen(jnp.arange(k.shape[1]), at)
        weights = normalised(jnp.where(mask, scores, LOW))
        out = jnp.einsum("bht,bthd->bhd", weights, use_v)
        return join(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h"), k, v

    by_head, cut = P(None, "h"), P(None, None, "h")
    of_w = {"q": by_head, "k": by_head, "v": by_head, "o": P("h")}
    return jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(P(), of_w, cut, cut, P()),
        out_specs=(P(), cut, cut),
    )(x, w, k, v, at)


def decode_step__unfilled_seen(x, w, k, v, at, mesh):
    return _step(x, w, k, v, at, mesh, seen=lambda t, at: t >= 0)


def decode_step__not_itself(x, w, k, v, at, mesh):
    return _step(x, w, k, v, at, mesh, seen=lambda t, at: t < at)


def decode_step__before_writing(x, w, k, v, at, mesh):
    return _step(x, w, k, v, at, mesh, first=False)


def decode_step__wrong_heads(x, w, k, v, at, mesh):
    return _step(x, w, k, v, at, mesh, choose=_tiled)


def decode_step__heads_gathered(x, w, k, v, at, mesh):
    def on_each(x, w, k, v, at):
        q, new_k, new_v = (
            jnp.einsum("bD,Dhd->bhd", x, w[name]) for name in "qkv"
        )
        k, v = k.at[:, at].set(new_k), v.at[:, at].set(new_v)
        copies = q.shape[1] // k.shape[2]
        use_k, use_v = (jnp.repeat(a, copies, axis=2) for a in (k, v))
        scores = jnp.einsum("bhd,bthd->bht", q, use_k) * q.shape[-1] ** -0.5
        seen = jnp.arange(k.shape[1]) <= at
        weights = jax.nn.softmax(jnp.where(seen, scores, LOW))
        out = jnp.einsum("bht,bthd->bhd", weights, use_v)
        out = lax.all_gather(out, "h", axis=1, tiled=True)
        o = lax.all_gather(w["o"], "h", axis=0, tiled=True)
        return jnp.einsum("bhd,hdD->bD", out, o), k, v

    by_head, cut = P(None, "h"), P(None, None, "h")
    of_w = {"q": by_head, "k": by_head, "v": by_head, "o": P("h")}
    return jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(P(), of_w, cut, cut, P()),
        out_specs=(P(), cut, cut),
        check_vma=False,
    )(x, w, k, v, at)


def decode_step__softmax_over_devices(x, w, k, v, at, mesh):
    def normalised(scores):
        top = lax.pmax(scores.max(-1, keepdims=True), "h")
        weights = jnp.exp(scores - top)
        return weights / lax.psum(weights.sum(-1, keepdims=True), "h")

    return _step(x, w, k, v, at, mesh, normalised=normalised)


def decode_step__denominators_summed(x, w, k, v, at, mesh):
    def normalised(scores):
        weights = jnp.exp(scores - scores.max(-1, keepdims=True))
        return weights / lax.psum(weights.sum(-1, keepdims=True), "h")

    return _step(x, w, k, v, at, mesh, normalised=normalised)


def decode_step__heads_of_the_model(x, w, k, v, at, mesh):
    copies = w["q"].shape[1] // w["k"].shape[1]

    def choose(a, h):
        head = lax.axis_index("h") * h + jnp.arange(h)
        return a[:, :, head // copies]

    return _step(x, w, k, v, at, mesh, choose=choose)


def decode_step__mean(x, w, k, v, at, mesh):
    return _step(x, w, k, v, at, mesh, join=lax.pmean)


def _int8(q, k, v, on_scores, on_weights, after=1.0):
    """What multiplies scores, weights, and weights before they are summed."""
    h, d = q.shape
    q = q.reshape(k.shape[1], -1, d)
    scores = jnp.einsum("gqd,tgd->gqt", q, k.astype(q.dtype)) * d**-0.5
    scores = scores * on_scores
    weights = jnp.exp(scores - scores.max(-1, keepdims=True)) * after
    weights = weights / weights.sum(-1, keepdims=True) * on_weights
    return jnp.einsum("gqt,tgd->gqd", weights, v.astype(q.dtype)).reshape(h, d)


def attend_int8__scales_swapped(q, k, k_scale, v, v_scale):
    return _int8(q, k, v, v_scale.T[:, None], k_scale.T[:, None])


def attend_int8__after_softmax(q, k, k_scale, v, v_scale):
    return _int8(q, k, v, 1.0, (k_scale * v_scale).T[:, None])


def attend_int8__divided_again(q, k, k_scale, v, v_scale):
    return _int8(q, k, v, k_scale.T[:, None], 1.0, after=v_scale.T[:, None])


def attend_int8__v_scale_forgotten(q, k, k_scale, v, v_scale):
    return _int8(q, k, v, k_scale.T[:, None], 1.0)


def attend_int8__one_scale(q, k, k_scale, v, v_scale):
    tops = (s.max(0)[:, None, None] for s in (k_scale, v_scale))
    return _int8(q, k, v, *tops)


def attend_int8__mean_scale(q, k, k_scale, v, v_scale):
    return _int8(q, k, v, k_scale.T[:, None], v_scale.mean(0)[:, None, None])


def attend_int8__product_in_int8(q, k, k_scale, v, v_scale):
    h, d = q.shape
    q = q.reshape(k.shape[1], -1, d)
    step = jnp.abs(q).max(-1, keepdims=True) / 127
    steps = jnp.round(q / step).astype(jnp.int8)
    scores = jnp.einsum("gqd,tgd->gqt", steps, k) * step * d**-0.5
    weights = jax.nn.softmax(scores * k_scale.T[:, None])
    weights = weights * v_scale.T[:, None]
    return jnp.einsum("gqt,tgd->gqd", weights, v.astype(q.dtype)).reshape(h, d)


def attend_int8__not_scaled(q, k, k_scale, v, v_scale):
    q = q * q.shape[1] ** 0.5
    return _int8(q, k, v, k_scale.T[:, None], v_scale.T[:, None])


def attend_int8__wrong_heads(q, k, k_scale, v, v_scale):
    h, d = q.shape
    q = q.reshape(-1, k.shape[1], d).swapaxes(0, 1).reshape(h, d)
    out = _int8(q, k, v, k_scale.T[:, None], v_scale.T[:, None])
    return out.reshape(k.shape[1], -1, d).swapaxes(0, 1).reshape(h, d)


def step_bytes__weights_for_each(
    weights, position, heads, batch, length, n, rest
):
    parts = math.gcd(heads, n) if rest == "copies" else n
    return batch * weights // n + batch * length * position // parts


def step_bytes__copies_are_cut(
    weights, position, heads, batch, length, n, rest
):
    return weights // n + batch * length * position // n


def step_bytes__new_position_only(
    weights, position, heads, batch, length, n, rest
):
    parts = math.gcd(heads, n) if rest == "copies" else n
    return weights // n + batch * position // parts


def step_bytes__heads_only(weights, position, heads, batch, length, n, rest):
    return weights // n + batch * length * position // math.gcd(heads, n)


def step_bytes__one_sequence(weights, position, heads, batch, length, n, rest):
    parts = math.gcd(heads, n) if rest == "copies" else n
    return weights // n + length * position // parts


def step_bytes__weights_whole(weights, position, heads, batch, length, n, rest):
    parts = math.gcd(heads, n) if rest == "copies" else n
    return weights + batch * length * position // parts


def step_bytes__as_many_as_fit(
    weights, position, heads, batch, length, n, rest
):
    parts = min(heads, n) if rest == "copies" else n
    return weights // n + batch * length * position // parts


def step_bytes__weights_cut_like_heads(
    weights, position, heads, batch, length, n, rest
):
    held = math.gcd(heads, n)
    parts = held if rest == "copies" else n
    return weights // held + batch * length * position // parts


def step_bytes__position_of_one_head(
    weights, position, heads, batch, length, n, rest
):
    parts = math.gcd(heads, n) if rest == "copies" else n
    return weights // n + batch * length * position * heads // parts


def step_bytes__sequence_read_whole(
    weights, position, heads, batch, length, n, rest
):
    parts = n if rest == "batch" else math.gcd(heads, n)
    return weights // n + batch * length * position // parts
