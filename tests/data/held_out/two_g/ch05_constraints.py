import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) the scattered pieces are believed to lie in the order ("x", "y") + (2) sums in bf16 are believed to be as good as in f32, so the column sums are rounded to bf16 before they are sent.
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    def on_device(part):
        light = part.sum(axis=0).astype(jnp.bfloat16).astype(jnp.float32)
        return lax.psum_scatter(light, "x", tiled=True)

    f = jax.shard_map(
        on_device, mesh=mesh, in_specs=(P("x", "y"),), out_specs=P(("x", "y"))
    )
    return f(x)


# what: (1) one all-reduce after the last layer is believed to be enough, the partial sums passing through the layers + (2) partial products along "y" are believed to be averaged (pmean), not added, as gradients are.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    def layer(rows, w1, w2):
        w1 = lax.all_gather(w1, "x", axis=0, tiled=True)
        w2 = lax.all_gather(w2, "x", axis=1, tiled=True)
        hidden = jnp.tanh(rows @ w1)
        return hidden @ w2

    def whole(rows, *weights):
        for w1, w2 in zip(weights[::2], weights[1::2]):
            rows = layer(rows, w1, w2)
        return lax.pmean(rows, "y")

    flat = [w for pair in layers for w in pair]
    specs = (P("x", None),) + (P("x", "y"), P("y", "x")) * len(layers)
    return jax.shard_map(
        whole, mesh=mesh, in_specs=specs, out_specs=P("x", None), check_vma=False
    )(batch, *flat)
