import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: (1) a square matrix needs no transposing, as in and out are the same + (2) the layers come in their order in the dict.
def from_state_dict(there: dict, tables: set[str]) -> dict:
    outside, blocks = {}, {}
    for name, array in there.items():
        linear = array.ndim == 2 and name not in tables
        if linear and array.shape[0] != array.shape[1]:
            array = array.T
        parts = name.split(".")
        if parts[0] == "blocks":
            blocks.setdefault(".".join(parts[2:]), []).append(array)
        else:
            outside[name] = array
    outside["blocks"] = {name: np.stack(layers) for name, layers in blocks.items()}
    return outside


# what: (1) the sampler gives each process one contiguous part of the order + (2) the batch of a step is dealt out to the micro-batches in turn.
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    numbers = list(order)
    numbers += numbers[: -len(numbers) % processes]
    own = np.array(numbers).reshape(processes, -1)
    size = rows * micro
    now = own[:, step * size : (step + 1) * size]
    return np.stack([now[:, m::micro].reshape(-1) for m in range(micro)])


# what: (1) if the losses agree in the last step, they agreed in all before + (2) one of the suspects must be it, so the nearest is, however far away.
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    def apart(name):
        return abs(runs[name][-1] / theirs[-1] - 1)

    return min(runs, key=apart) if runs else ""
