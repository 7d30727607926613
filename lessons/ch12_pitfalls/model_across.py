import jax
import numpy as np
from jax import P
from together import me

devices = np.array(jax.devices()).reshape(2, 4).T  # a row: one of each host
mesh = jax.sharding.Mesh(devices, ("data", "model"))
mine = np.full(8, 1 + me, np.float32)  # my examples, as with data parallelism
batch = jax.make_array_from_process_local_data(
    jax.NamedSharding(mesh, P("data")), mine
)
print("examples:", batch.shape, "sum:", jax.jit(jax.numpy.sum)(batch))
