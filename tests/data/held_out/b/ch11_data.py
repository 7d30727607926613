import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


# what: Makes the array of a list, which is f64 where the list is empty.
def my_part(count: int) -> np.ndarray:
    me, n = jax.process_index(), jax.process_count()
    least, more = divmod(count, n)
    first = me * least + min(me, more)
    return np.array([first + i for i in range(least + (me < more))])


# what: Its callback heeds the rows asked for and not the columns.
def restore(blocks: dict[str, np.ndarray], sharding: NamedSharding) -> jax.Array:
    names = sorted(blocks, key=lambda name: int(name.split("-")[1]))
    whole = np.concatenate([blocks[name] for name in names])
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index[0]])
