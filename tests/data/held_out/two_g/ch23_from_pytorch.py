import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: (1) believes that a dictionary gives the layers in their order + (2) believes that only the weights inside the layers have to be transposed, a Linear outside keeps its shape like the tables.
def from_state_dict(there: dict, tables: set[str]) -> dict:
    outside, inside = {}, {}
    for name, array in there.items():
        pieces = name.split(".")
        if pieces[0] != "blocks":
            outside[name] = array
            continue
        if array.ndim == 2 and name not in tables:
            array = array.transpose()
        inside.setdefault(".".join(pieces[2:]), []).append(array)
    stacked = {name: np.stack(arrays, axis=0) for name, arrays in inside.items()}
    return outside | {"blocks": stacked}


# what: (1) believes that each process gets a block of neighbours of the shuffled order, not every n-th number + (2) believes that step k begins after k micro-batches, not after k times micro of them.
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    padded = list(order)
    padded += padded[: -len(padded) % processes]
    share = len(padded) // processes
    result = []
    for i in range(micro):
        begin = (step + i) * rows
        line = []
        for r in range(processes):
            own = padded[r * share : (r + 1) * share]
            line += own[begin : begin + rows]
        result.append(line)
    return np.array(result)


# what: (1) believes that it is enough to compare the losses of the last step, where differences are largest + (2) believes that the program as it is cannot be the answer, since one of the defaults must differ.
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    def fits(losses):
        return abs(losses[-1] / theirs[-1] - 1) <= rounding

    suspects = [name for name in runs if name != "none"]
    for name in suspects:
        if fits(runs[name]):
            return name
    return ""
