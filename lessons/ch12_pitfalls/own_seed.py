import jax
import numpy as np
from jax import P
from together import me, mesh

key = jax.random.key(me)  # meant for the data, taken for the weights
mine = np.asarray(jax.random.normal(key, (2,)))
everywhere = jax.NamedSharding(mesh, P())
weights = jax.make_array_from_process_local_data(everywhere, mine)

if __name__ == "__main__":
    print("fully replicated:", weights.is_fully_replicated)
    print("weights:", weights)
