"""A transformer on bytes, whole and in parts. Embedding and head share one
table."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax

LENGTH, WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY = 32, 32, 4, 64, 8, 256
OF_A_LAYER = {
    "qkv": (WIDTH, 3, HEADS, WIDTH // HEADS),
    "out": (HEADS, WIDTH // HEADS, WIDTH),
    "up": (WIDTH, HIDDEN),
    "down": (HIDDEN, WIDTH),
}
SPECS = {name: P(None, "stage") for name in OF_A_LAYER}
SPECS |= {"embed": P(), "position": P()}


def drawn(key, stages=4, chunks=1):
    """Layers as [chunk, stage, layers of the part, …]: part c·stages + s of
    the model is [c, s]."""
    each = chunks, stages, LAYERS // (chunks * stages)
    shapes = {n: (*each, *shape) for n, shape in OF_A_LAYER.items()}
    shapes |= {"embed": (VOCABULARY, WIDTH), "position": (LENGTH, WIDTH)}
    w, keys = {}, iter(jax.random.split(key, len(shapes)))
    for name, shape in shapes.items():
        into = HIDDEN if name == "down" else WIDTH
        x = jax.random.normal(next(keys), (int(np.prod(shape)),))
        w[name] = (x / into**0.5).reshape(shape)
    return w


def batch(text, step, microbatches, rows):
    """int32[microbatches, rows, LENGTH + 1] of the text, another each step."""
    rng = np.random.default_rng(step)
    at = rng.integers(0, len(text) - LENGTH - 1, microbatches * rows)
    cut = np.stack([text[i : i + LENGTH + 1] for i in at]).astype(np.int32)
    return cut.reshape(microbatches, rows, LENGTH + 1)


def norm(x):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def embedded(w, tokens):
    return w["embed"][tokens[..., :-1]] + w["position"]


def layers(w, x):
    """w: of the layers of one part, one after the other."""

    def layer(x, w):
        q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), w["qkv"])
        heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + jnp.einsum("bshk,hkd->bsd", heads, w["out"])
        return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"], None

    return lax.scan(layer, x, {n: w[n] for n in OF_A_LAYER})[0]


def head(w, x, tokens):
    """The loss, in nats."""
    said = jax.nn.log_softmax(norm(x) @ w["embed"].T)
    goal = tokens[..., 1:, None]
    return -jnp.mean(jnp.take_along_axis(said, goal, -1))


def part_of(w, chunk, stage):
    return w | {n: w[n][chunk, stage] for n in OF_A_LAYER}


def alone(w, tokens):
    """The whole model on one device: the mean over all microbatches."""

    def one(tokens):
        x = embedded(w, tokens)
        chunks, stages = w["qkv"].shape[:2]
        for part in range(chunks * stages):
            x = layers(part_of(w, *divmod(part, stages)), x)
        return head(w, x, tokens)

    return jnp.mean(lax.map(one, tokens))
