"""Other answers to the exercises of ch20_serving: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import P, lax


def attend_cut__right(q, k, v, filled, mesh):
    """The parts measured against their own tops, then rescaled."""

    def on_each(q, k, v, filled):
        low = lax.axis_index("s") * k.shape[1]
        seen = jnp.arange(k.shape[1]) + low < filled
        s = jnp.einsum("bhd,bthd->bht", q / jnp.sqrt(q.shape[-1]), k)
        s = jnp.where(seen[None, None], s, -1e30)
        top = s.max(-1)
        p = jnp.where(seen, jnp.exp(s - top[..., None]), 0)
        scale = jnp.exp(top - lax.pmax(top, "s"))
        total = lax.psum(p.sum(-1) * scale, "s")
        values = jnp.einsum("bht,bthd,bh->bhd", p, v, scale)
        return lax.psum(values, "s") / total[..., None]

    spec = P(None, "s", None, None)
    return jax.jit(jax.shard_map(on_each, mesh=mesh, in_specs=(P(), spec, spec, P()), out_specs=P()))(q, k, v, filled)


def attend_cut__right_otherwise(q, k, v, filled, mesh):
    """Values and totals in one array; weights of what is not seen are 0."""
    n = mesh.size

    def on_each(q, k, v, filled):
        t = k.shape[1]
        left = jnp.clip(filled - lax.axis_index("s") * t, 0, t)  # filled here
        s = jnp.einsum("bhd,bthd->bht", q, k) * (1 / q.shape[-1] ** 0.5)
        seen = lax.broadcasted_iota(jnp.int32, s.shape, 2) < left
        own = jnp.max(s, axis=-1, keepdims=True, where=seen, initial=-3e38)
        top = lax.pmax(own, "s")
        p = jnp.where(seen, jnp.exp(jnp.minimum(s - top, 0)), 0)
        ones = jnp.ones((*v.shape[:3], 1), v.dtype)
        both = jnp.einsum("bht,bthd->bhd", p, jnp.concatenate([v, ones], -1))
        both = lax.psum(both, "s")
        return both[..., :-1] / both[..., -1:]

    cut = P(None, "s")
    assert k.shape[1] % n == 0
    return jax.shard_map(on_each, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P())(q, k, v, filled)


def _attention(q, k, v, filled, mesh, way, fill=-1e30):
    def on_each(q, k, v, filled):
        t = k.shape[1]
        seen = lax.axis_index("s") * t + jnp.arange(t) < filled
        s = jnp.einsum("bhd,bthd->bht", q / q.shape[-1] ** 0.5, k)
        s = jnp.where(seen, s, fill)
        top = s.max(-1)
        p = jnp.exp(s - top[..., None])
        return way(jnp.einsum("bht,bthd->bhd", p, v), top, p.sum(-1))

    spec = P(None, "s", None, None)
    return jax.shard_map(on_each, mesh=mesh, in_specs=(P(), spec, spec, P()), out_specs=P())(q, k, v, filled)


def attend_cut__all_seen(q, k, v, filled, mesh):
    def way(values, top, total):
        scale = jnp.exp(top - lax.pmax(top, "s"))[..., None]
        total = lax.psum(total[..., None] * scale, "s")
        return lax.psum(values * scale, "s") / total

    return _attention(q, k, v, jnp.int32(10**6), mesh, way)


def attend_cut__gathered(q, k, v, filled, mesh):
    place = jax.NamedSharding(mesh, P())
    k, v = (lax.with_sharding_constraint(x, place) for x in (k, v))
    s = jnp.einsum("bhd,bthd->bht", q, k) / q.shape[-1] ** 0.5
    s = jnp.where(jnp.arange(k.shape[1]) < filled, s, -jnp.inf)
    return jnp.einsum("bht,bthd->bhd", jax.nn.softmax(s), v)


def attend_cut__summed_again(q, k, v, filled, mesh):
    """Every device has the whole attention; their sum is n times too large."""
    from solutions.ch20_serving import attend_cut

    return attend_cut(q, k, v, filled, mesh) * mesh.size


def write_token__right(cache, new, at, mesh):
    """Without shard_map: a comparison of positions, which each device makes of its own."""
    here = jnp.arange(cache.shape[0])[:, None, None] == at
    spec = jax.NamedSharding(mesh, P("s"))
    return lax.with_sharding_constraint(jnp.where(here, new, cache), spec)


def write_token__right_otherwise(cache, new, at, mesh):
    """A row behind the last is dropped; that of the owner only is not."""

    def on_each(cache, new, at):
        t = cache.shape[0]
        row = jnp.where(at // t == lax.axis_index("s"), at % t, t)
        return cache.at[row].set(new, mode="drop")

    return jax.shard_map(on_each, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


def _rows(cache, new, at, mesh, f):
    def on_each(cache, new, at):
        return f(cache, new, at, lax.axis_index("s"), cache.shape[0])

    return jax.shard_map(on_each, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


def write_token__whole_position(cache, new, at, mesh):
    return _rows(cache, new, at, mesh, lambda c, x, at, i, t: c.at[at].set(x))


def write_token__moved_until_it_fits(cache, new, at, mesh):
    def local(cache, new, at):
        start = at - lax.axis_index("s") * cache.shape[0]
        return lax.dynamic_update_slice(cache, new[None], (start, 0, 0))

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


def write_token__one_further(cache, new, at, mesh):
    from solutions.ch20_serving import write_token

    return write_token(cache, new, (at + 1) % cache.shape[0], mesh)


def write_token__from_behind(cache, new, at, mesh):
    from solutions.ch20_serving import write_token

    return write_token(cache, new, cache.shape[0] - 1 - at, mesh)


def decode_step__right(x, w, k, v, at, mesh):
    """Keys repeated for each query head, rows by dynamic slices."""

    def on_each(x, w, k, v, at):
        q, new_k, new_v = (jnp.tensordot(x, w[name], 1) for name in ("q", "k", "v"))
        k, v = (lax.dynamic_update_slice_in_dim(old, new[:, None], at, 1) for old, new in ((k, new_k), (v, new_v)))
        copies = q.shape[1] // k.shape[2]
        keys, values = (jnp.repeat(a, copies, axis=2) for a in (k, v))
        scores = (q[:, None] * keys).sum(-1) / q.shape[-1] ** 0.5
        seen = (jnp.arange(k.shape[1]) < at + 1)[None, :, None]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=1)
        out = (weights[..., None] * values).sum(1)
        return lax.psum(jnp.tensordot(out, w["o"], 2), "h"), k, v

    by_head, cut = P(None, "h", None), P(None, None, "h", None)
    of_w = {"q": by_head, "k": by_head, "v": by_head, "o": P("h")}
    return jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(P(), of_w, cut, cut, P()),
        out_specs=(P(), cut, cut),
    )(x, w, k, v, at)


def decode_step__right_otherwise(x, w, k, v, at, mesh):
    """The sum over heads by the compiler, all arrays whole."""

    def constrained(a, *spec):
        place = jax.NamedSharding(mesh, P(*spec))
        return lax.with_sharding_constraint(a, place)

    q, new_k, new_v = (constrained(jnp.einsum("bD,Dhd->bhd", x, w[n]), None, "h") for n in "qkv")
    here = jnp.arange(k.shape[1])[:, None, None] == at
    k = jnp.where(here, new_k[:, None], k)
    v = jnp.where(here, new_v[:, None], v)
    k, v = (constrained(a, None, None, "h") for a in (k, v))
    b, length, g, d = k.shape
    q = constrained(q.reshape(b, g, -1, d), None, "h")
    scores = jnp.einsum("bgqd,btgd->bgqt", q, k) / jnp.sqrt(1.0 * d)
    scores = jnp.where(jnp.arange(length) > at, -jnp.inf, scores)
    out = jnp.einsum("bgqt,btgd->bgqd", jax.nn.softmax(scores), v)
    o = w["o"].reshape(g, -1, d, x.shape[1])
    out = jnp.einsum("bgqd,gqdD->bD", out, constrained(o, "h"))
    return constrained(out), k, v


def decode_step__heads_gathered(x, w, k, v, at, mesh):
    """By the compiler: the heads' result and the weights asked for whole."""

    def whole(a):
        return lax.with_sharding_constraint(a, jax.NamedSharding(mesh, P()))

    def cut(a):
        place = jax.NamedSharding(mesh, P(None, None, "h"))
        return lax.with_sharding_constraint(a, place)

    q, a, c = (jnp.tensordot(x, w[n], 1) for n in ("q", "k", "v"))
    k, v = cut(k.at[:, at].set(a)), cut(v.at[:, at].set(c))
    copies = q.shape[1] // k.shape[2]
    keys, values = (jnp.repeat(y, copies, axis=2) for y in (k, v))
    s = jnp.einsum("bhd,bthd->bht", q, keys) / q.shape[-1] ** 0.5
    s = jnp.where(jnp.arange(k.shape[1]) <= at, s, -jnp.inf)
    out = whole(jnp.einsum("bht,bthd->bhd", jax.nn.softmax(s), values))
    return jnp.tensordot(out, whole(w["o"]), 2), k, v


def decode_step__softmax_over_devices(x, w, k, v, at, mesh):
    def local(x, w, k, v, at):
        q = jnp.einsum("bD,Dhd->bhd", x, w["q"])
        b, h, d = q.shape
        g = k.shape[2]
        time = jnp.arange(k.shape[1])
        here = (time == at)[:, None, None]
        k = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["k"])[:, None], k)
        v = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["v"])[:, None], v)
        q = q.reshape(b, g, h // g, d)
        score = jnp.einsum("bgrd,btgd->bgrt", q, k) / d**0.5
        score = jnp.where(time <= at, score, -jnp.inf)
        top = lax.pmax(score.max(-1, keepdims=True), "h")
        e = jnp.exp(score - top)
        total = lax.psum(e.sum(-1, keepdims=True), "h")
        out = jnp.einsum("bgrt,btgd->bgrd", e / total, v).reshape(b, h, d)
        return lax.psum(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h"), k, v

    heads = P(None, None, "h")
    cut = P(None, "h")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P(),
            {"q": cut, "k": cut, "v": cut, "o": P("h")},
            heads,
            heads,
            P(),
        ),
        out_specs=(P(), heads, heads),
    )(x, w, k, v, at)


def decode_step__summed_again(x, w, k, v, at, mesh):
    from solutions.ch20_serving import decode_step

    out, k, v = decode_step(x, w, k, v, at, mesh)
    return out * mesh.size, k, v


def attend_int8__right(q, k, k_scale, v, v_scale):
    """In float32 first: right, with more to read."""
    k, v = k * k_scale[..., None], v * v_scale[..., None]
    copies = q.shape[0] // k.shape[1]
    k, v = (jnp.repeat(x, copies, axis=1) for x in (k, v))
    weights = jax.nn.softmax(jnp.einsum("hd,thd->ht", q, k) / q.shape[1] ** 0.5)
    return jnp.einsum("ht,thd->hd", weights, v)


def attend_int8__from_minus_1_to_1(q, k, k_scale, v, v_scale):
    """As if the scale were the largest number, and not a step."""
    from solutions.ch20_serving import attend_int8

    return attend_int8(q, k, k_scale, v, v_scale) / 127


def step_bytes__right(weights, position, heads, batch, length, n, rest):
    cut = max(m for m in range(1, n + 1) if heads % m == 0 and n % m == 0)
    if rest != "copies":
        cut *= n // cut
    return sum([weights // n, batch * (length * position) // cut])


def step_bytes__in_bits(weights, position, heads, batch, length, n, rest):
    from solutions.ch20_serving import step_bytes

    return 8 * step_bytes(weights, position, heads, batch, length, n, rest)
