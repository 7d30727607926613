import jax  # noqa: F401
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that sorting the names puts the layers in order (10 comes before 2) + (2) believes that a square matrix need not be turned.
def from_state_dict(there: dict, tables: set[str]) -> dict:
    def turned(name):
        a = there[name]
        if name in tables or a.ndim != 2 or a.shape[0] == a.shape[1]:
            return a
        return a.T

    plain, stacks = {}, {}
    for name in sorted(there):
        if name.startswith("blocks."):
            _, _, short = name.split(".", 2)
            stacks.setdefault(short, []).append(turned(name))
        else:
            plain[name] = turned(name)
    return plain | {"blocks": {short: np.stack(all_) for short, all_ in stacks.items()}}


# what: (1) believes that the sampler fills up with the last numbers of order, not the first + (2) believes that a step moves on by one micro-batch.
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    order = list(order)
    missing = -len(order) % processes
    if missing:
        order = order + (order * processes)[-missing:]
    out = []
    for m in range(micro):
        first = (step + m) * rows
        line = []
        for r in range(processes):
            line.extend(order[r::processes][first : first + rows])
        out.append(line)
    return np.array(out)


# what: (1) believes that the first step's loss is enough, as everything after it follows from it + (2) takes "none" for the answer "nothing found", so it is never returned.
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    def off(mine):
        return abs(mine[0] / theirs[0] - 1)

    suspects = sorted(
        (name for name in runs if name != "none"), key=lambda name: off(runs[name])
    )
    for name in suspects:
        if off(runs[name]) <= rounding:
            return name
    return ""
