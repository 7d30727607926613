"""How long JAX takes to compile a step, or to find it in its cache."""

import time

import jax
import jax.numpy as jnp
from jax import P, lax

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("data",))
whole, rows = jax.NamedSharding(mesh, P()), jax.NamedSharding(mesh, P("data"))


def layer(x, w):
    y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True))
    attend = jax.nn.softmax(jnp.einsum("btd,bsd->bts", y @ w, y))
    return x + jnp.tanh(jnp.einsum("bts,bsd->btd", attend, y) @ w)


def loss(ws, x):
    for w in ws:  # written out: each layer is compiled
        x = layer(x, w)
    return (x**2).mean()


def step(ws, x):
    return jax.tree.map(lambda w, g: w - g, ws, jax.grad(loss)(ws, x))


w = jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=whole)
x = jax.ShapeDtypeStruct((32, 16, 64), jnp.float32, sharding=rows)
began = time.perf_counter()
jax.jit(step).lower([w] * 8, x).compile()
print(f"{time.perf_counter() - began:.1f} s")
