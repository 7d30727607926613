from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: differentiates the whole shard_map from outside; its transpose adds the gradients up
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    cut = P("data")

    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), cut, cut), out_specs=P())
    def value_of(params, x, y):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))
        return lax.pmean(loss(params, x, y, key), "data")

    value, pull = jax.vjp(lambda p: value_of(p, x, y), params)
    (gradient,) = pull(jnp.ones_like(value))
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value


# what: recursion on the list of arrays, largest first, with what remains of the excess
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.size

    def cuts(names, excess):
        if not names or excess <= 0:
            return {}
        first, *rest = names
        a = params[first]
        dim = next((d for d, size in enumerate(a.shape) if size % n == 0), None)
        if dim is None:
            return cuts(rest, excess)
        saved = a.nbytes - a.nbytes // n
        spec = P(*[None] * dim, "data")
        return {first: spec} | cuts(rest, excess - saved)

    order = sorted(params, key=lambda k: -params[k].nbytes)
    specs = cuts(order, sum(a.nbytes for a in params.values()) - limit)
    layout = {k: NamedSharding(mesh, specs.get(k, P())) for k in params}
    return jax.device_put(params, layout)


# what: the residual and the bias enter the sum, on the first device of each row of "model" only
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    columns = P(None, "model")

    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(P("data"), columns, columns, P("model"), P()),
        out_specs=P("data"),
    )
    def layer(x, gate, up, down, bias):
        g, u = jnp.split(x @ jnp.concatenate([gate, up], axis=1), 2, axis=1)
        once = jnp.where(lax.axis_index("model") == 0, x + bias, 0.0)
        return lax.psum(g * jax.nn.sigmoid(g) * u @ down + once, "model")

    return layer(x, gate, up, down, bias)


# what: one gradient of a scanned, rematerialised sum of losses, with params made varying before it
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    cut = P(None, "data")

    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), cut, cut, cut), out_specs=P())
    def gradient(params, x, y, real):
        own = jax.tree.map(lambda p: lax.pcast(p, "data", to="varying"), params)

        @jax.checkpoint
        def total(own, part):
            rows, targets, weight = part
            return jnp.vdot(losses(own, rows, targets), weight)

        def everything(own):
            zero = lax.pcast(jnp.float32(0), "data", to="varying")
            step = lambda carry, part: (carry + total(own, part), None)
            return lax.scan(step, zero, (x, y, real))[0]

        added = lax.psum((jax.grad(everything)(own), real.sum()), "data")
        return jax.tree.map(lambda g: g / added[1], added[0])

    return gradient(params, x, y, real)
