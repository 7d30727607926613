from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Own gradients at varying params, one psum of loss and gradient, raveled.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n = mesh.shape["data"]

    def local(params, x, y, key):
        key = jax.random.fold_in(key, lax.axis_index("data"))
        mine = jax.tree.map(lambda p: lax.pcast(p, "data", to="varying"), params)
        own = jax.value_and_grad(loss)(mine, x, y, key)
        flat, back = ravel_pytree(own)
        return back(lax.psum(flat, "data") / n)

    f = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data"), P()),
        out_specs=P(),
    )
    value, grads = f(params, x, y, jax.random.key(seed))
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), value


# what: Recursive: the largest array, then the rest within what is left.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]

    def choose(names, limit):
        if sum(params[name].nbytes for name in names) <= limit:
            return {name: P() for name in names}
        largest = max(names, key=lambda name: params[name].nbytes)
        a = params[largest]
        cuts = [i for i, size in enumerate(a.shape) if size % n == 0][:1]
        spec = P(*[None] * cuts[0], "data") if cuts else P()
        held = a.nbytes // n if cuts else a.nbytes
        rest = [name for name in names if name != largest]
        return {largest: spec, **choose(rest, limit - held)}

    specs = choose(list(params), limit)
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in params.items()}


# what: Explicit types and out_sharding ask for the sum; there is no shard_map.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    hidden = jax.nn.silu(x @ gate) * (x @ up)
    rows = NamedSharding(mesh, P("data", None))
    return x + jnp.dot(hidden, down, out_sharding=rows) + bias


# what: real goes back through vjp in a fori_loop; one psum of a raveled vector.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def local(params, x, y, real):
        mine = jax.tree.map(lambda p: lax.pcast(p, "data", to="varying"), params)

        def add(i, grads):
            _, pull = jax.vjp(lambda p: losses(p, x[i], y[i]), mine)
            return jax.tree.map(jnp.add, grads, pull(real[i])[0])

        zeros = jax.tree.map(
            lambda p: lax.pcast(jnp.zeros_like(p), "data", to="varying"),
            params,
        )
        grads = lax.fori_loop(0, x.shape[0], add, zeros)
        flat, back = ravel_pytree((grads, jnp.sum(real)))
        grads, count = back(lax.psum(flat, "data"))
        return jax.tree.map(lambda g: g / count, grads)

    rows = P(None, "data")
    ins = (P(), rows, rows, rows)
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    return f(params, x, y, real)


# what: one compiled program, called twice by reduce
def two_steps_in_one_memory(update, state, batch):
    layout = jax.tree.map(lambda array: array.sharding, state)
    program = jax.jit(update, donate_argnums=(0,), out_shardings=layout).lower(state, batch).compile()
    state = reduce(lambda now, _: program(now, batch), range(2), state)
    return state, program.memory_analysis().alias_size_in_bytes
