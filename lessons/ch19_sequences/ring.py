"""Ring attention: keys and values go round, each device merges what it has.

For blocks as in `ways`.
"""

import jax.numpy as jnp
from jax import lax
from parts import divided, merge, nothing, part


def on(*blocks):
    """The blocks of the device before this one along "s"."""
    n = lax.axis_size("s")
    ahead = [(j, (j + 1) % n) for j in range(n)]
    return [lax.ppermute(x, "s", ahead) for x in blocks]


def ring(q, k, v, each=lambda turn: turn):
    """each: what becomes of a turn before it is repeated."""
    n, i, t = lax.axis_size("s"), lax.axis_index("s"), q.shape[1]

    def attend(state, k, v, r):
        owner = (i - r) % n  # whose block is here in turn r
        places = (j * t + jnp.arange(t) for j in (i, owner))
        return merge(state, part(q, k, v, *places))

    def turn(carry, r):
        state, k, v = carry
        coming = on(k, v)  # on its way ...
        return (attend(state, k, v, r), *coming), None  # ... meanwhile

    begin, turns = (nothing(q), k, v), jnp.arange(n - 1)
    (state, k, v), _ = lax.scan(each(turn), begin, turns)
    return divided(attend(state, k, v, n - 1), q)  # the last goes nowhere
