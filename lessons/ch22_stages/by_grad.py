"""GPipe without a table: the forward ticks, which jax.grad turns round."""

import jax
import jax.numpy as jnp
from jax import lax
from parts import LENGTH, SPECS, WIDTH, embedded, head, layers, part_of


def loss(w, tokens, early=True):
    """Inside shard_map over "stage". Every device embeds and has a head, in
    every tick; what is no microbatch's is masked. early: copies of weights
    become each device's own before the loop, not in every tick."""
    s, stages = lax.axis_index("stage"), lax.axis_size("stage")
    microbatches, last = len(tokens), stages - 1

    def varying(x):
        return lax.pcast(x, "stage", to="varying")

    if early:
        w = {n: a if "stage" in SPECS[n] else varying(a) for n, a in w.items()}

    @jax.checkpoint  # of each tick only the input is kept
    def tick(carry, t):
        x, total = carry
        m = jnp.minimum(t, microbatches - 1)
        x = jnp.where(s == 0, embedded(w, tokens[m]), x)
        x = layers(part_of(w, 0, 0), x)
        m = t - last  # of the last stage
        said = head(w, x, tokens[jnp.maximum(m, 0)])
        total += jnp.where((s == last) & (m >= 0), said, 0)
        to_next = [(i, i + 1) for i in range(last)]
        return (lax.ppermute(x, "stage", to_next), total), None

    nothing = jnp.zeros((tokens.shape[1], LENGTH, WIDTH))
    start = varying((nothing, jnp.zeros(())))
    ticks = jnp.arange(microbatches + last)
    (_, total), _ = lax.scan(tick, start, ticks)
    return lax.psum(total, "stage") / microbatches
