"""A transformer with experts, trained on bytes: on one device, or on many."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax
from packed import balance, experts

LENGTH, WIDTH, HEADS, HIDDEN, EXPERTS, LAYERS, ROWS = 32, 32, 4, 64, 8, 2, 16
SHAPES = {
    "embed": (256, WIDTH),
    "position": (LENGTH, WIDTH),
    "qkv": (LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
    "out": (LAYERS, HEADS, WIDTH // HEADS, WIDTH),
    "router": (LAYERS, WIDTH, EXPERTS),
    "up": (LAYERS, EXPERTS, WIDTH, HIDDEN),
    "down": (LAYERS, EXPERTS, HIDDEN, WIDTH),
    "logits": (WIDTH, 256),
}
OF_A_LAYER = "qkv", "out", "router", "up", "down"
SPECS = {n: P(None, "e") if n in ("up", "down") else P() for n in SHAPES}
TOKENS = ROWS * LENGTH  # of a step


def batch(text, step):
    rng = np.random.default_rng(step)
    first = rng.integers(0, len(text) - LENGTH - 1, ROWS)
    return np.stack([text[i : i + LENGTH + 1] for i in first]).astype(np.int32)


def norm(x):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def loss(w, tokens, capacity, axis, groups, weight):
    """(loss, (nats, dropped)). groups: on one device, so many queues, each
    of its own rows, as if they were devices."""

    def mean(x):
        return lax.pmean(x, axis or "group")

    def layer_of_experts(w, x):
        y, p, who, late = experts(w, x, capacity, axis)
        return y, balance(p, who, mean), mean(late.astype(x.dtype).mean())

    def layer(x, w):
        q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), w["qkv"])
        heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + jnp.einsum("bshk,hkd->bsd", heads, w["out"])
        flat = norm(x).reshape(-1, WIDTH)
        if axis:
            y, extra, dropped = layer_of_experts(w, flat)
        else:
            y, extra, dropped = jax.vmap(
                lambda x: layer_of_experts(w, x),
                out_axes=(0, None, None),
                axis_name="group",
            )(flat.reshape(groups, -1, WIDTH))
        return x + y.reshape(x.shape), (extra, dropped)

    x = w["embed"][tokens[:, :-1]] + w["position"]
    x, (extra, dropped) = lax.scan(layer, x, {n: w[n] for n in OF_A_LAYER})
    logp = jax.nn.log_softmax(norm(x) @ w["logits"])
    nats = -jnp.mean(
        jnp.sum(jax.nn.one_hot(tokens[:, 1:], 256) * logp, axis=-1)
    )
    nats = lax.pmean(nats, axis) if axis else nats
    return nats + weight * extra.mean(), (nats, dropped.mean())


def adam(state, g, rate=3e-3):
    n = state["n"] + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], g)

    def moved(p, m, v):
        up = jnp.sqrt(v / (1 - 0.99**n)) + 1e-8
        return p - rate * m / (1 - 0.9**n) / up

    return {"p": jax.tree.map(moved, state["p"], m, v), "m": m, "v": v, "n": n}


def train(text, steps, capacity, mesh=None, groups=1, weight=0.01):
    """[(nats, dropped), …] of each step. mesh: None for one device."""
    keys = jax.random.split(jax.random.key(0), len(SHAPES))
    p = {
        n: 0.08 * jax.random.normal(k, s)
        for (n, s), k in zip(SHAPES.items(), keys, strict=True)
    }
    m, v = (jax.tree.map(jnp.zeros_like, p) for _ in range(2))
    state, axis = {"p": p, "m": m, "v": v, "n": jnp.float32(0)}, None
    if mesh:
        axis = "e"

    def step(state, tokens):
        def f(p):
            return loss(p, tokens, capacity, axis, groups, weight)

        (_, told), g = jax.value_and_grad(f, has_aux=True)(state["p"])
        return adam(state, g), told

    if mesh:
        places = {"p": SPECS, "m": SPECS, "v": SPECS, "n": P()}
        step = jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(places, P("e")),
            out_specs=(places, (P(), P())),
        )
        on = jax.tree.map(lambda spec: NamedSharding(mesh, spec), places)
        state = jax.device_put(state, on)
    step, found = jax.jit(step, donate_argnums=0), []
    for i in range(steps):
        tokens = batch(text, i)
        if mesh:
            tokens = jax.device_put(tokens, NamedSharding(mesh, P("e")))
        state, told = step(state, tokens)
        found.append([float(x) for x in told])
    return found
