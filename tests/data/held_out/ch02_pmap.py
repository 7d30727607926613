import jax
from collections.abc import Callable


# what: jax.process_index() is taken for the number of the device inside pmap (like a rank in PyTorch), so in one process every device uses slice 0 of the "own_" arrays.
def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    def on_device(all_params, rows):
        rank = jax.process_index()
        mine = {
            layer: {
                name: (value[rank] if name.startswith("own_") else value)
                for name, value in entries.items()
            }
            for layer, entries in all_params.items()
        }
        return predict(mine, rows)

    return jax.pmap(on_device, in_axes=(None, 0))(params, inputs)
