import jax
import numpy as np
from jax import P
from together import everyone, me, mesh, total


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P("i"))
def pass_on(x):  # x: f32[1, n], from each device to the next
    return jax.lax.ppermute(x, "i", [(k, (k + 1) % 8) for k in range(8)])


xs = everyone(np.ones((4, 1)))
for function in [total, pass_on] if me == 0 else [pass_on, total]:
    print(function(xs).addressable_shards[0].data)
