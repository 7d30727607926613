"""The model of the night, for any mesh with the axes "data" and "model"."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.sharding import AxisType

SMALL = 8, 64  # inputs, hidden units: 2.3 KiB of parameters
LARGE = 8192, 2**20  # 32 GiB, for 256 chips
SPECS = {"up": P(None, "model"), "down": P("model")}


def mesh_of_all():
    """All devices, two along "model" where they are even in number."""
    n = jax.device_count()
    model = 2 if n % 2 == 0 else 1
    axes = (AxisType.Auto,) * 2
    return jax.make_mesh((n // model, model), ("data", "model"), axes)


def start(mesh, size=SMALL):
    """Parameters and momentum, f32, the same for every mesh."""
    inputs, hidden = size

    def draw(key):
        up = jax.random.normal(key, (inputs, hidden)) / inputs**0.5
        p = {"up": up, "down": jnp.ones(hidden) / hidden}
        return {"p": p, "m": jax.tree.map(jnp.zeros_like, p)}

    out = {name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}
    return jax.jit(draw, out_shardings={"p": out, "m": out}), jax.random.key(16)


def loss(p, x, y):  # x: f32[rows, inputs], y: f32[rows]
    guess = jnp.tanh(x @ p["up"]) @ p["down"]
    return jnp.mean((guess - y) ** 2)


@jax.jit(donate_argnums=0)
def update(state, x, y):
    """One step: (state, loss). Each device sees its rows and its columns."""
    value, gradient = jax.value_and_grad(loss)(state["p"], x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], gradient)
    p = jax.tree.map(lambda p, m: p - 0.1 * m, state["p"], m)
    return {"p": p, "m": m}, value


def large(mesh):
    """What `minipod plan` asks for: the step, and what it is called with."""
    draw, key = start(mesh, LARGE)
    state = jax.eval_shape(draw, key)
    cut = NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((2**15, LARGE[0]), jnp.float32, sharding=cut)
    y = jax.ShapeDtypeStruct((2**15,), jnp.float32, sharding=cut)
    return update, (state, x, y)
