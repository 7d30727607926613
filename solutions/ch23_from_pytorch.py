"""ch23_from_pytorch, solved."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


def from_state_dict(there: dict, tables: set[str]) -> dict:
    here, layers = {}, {}
    for name, w in there.items():
        if w.ndim == 2 and name not in tables:
            w = w.T
        if name.startswith("blocks."):
            _, i, of_a_layer = name.split(".", 2)
            layers.setdefault(of_a_layer, {})[int(i)] = w
        else:
            here[name] = w
    stacked = {
        name: np.stack([each[i] for i in range(len(each))])
        for name, each in layers.items()
    }
    return {**here, "blocks": stacked}


def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if check_vma and not cast:  # w is everybody's: its gradient is summed
        m, whose = (1 if of == "pmean" else n), "all"
    elif check_vma:  # a w of my own: nobody sums
        m, whose = (1 / n if of == "pmean" else 1), "own"
    else:  # the transpose of psum is psum: of n equal ones, n
        m, whose = (n if of == "psum" else 1), "own"
    if then == "psum":
        m = m * n
    if then != "nothing":
        whose = "all"
    return float(m), whose


def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    missing = -len(order) % processes
    padded = np.array([*order, *order[:missing]])
    now = slice(step * rows * micro, (step + 1) * rows * micro)
    each = [padded[r::processes][now] for r in range(processes)]
    return np.concatenate([e.reshape(micro, rows) for e in each], axis=1)


def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    def on_each(grads):
        squares = {True: jnp.zeros(()), False: jnp.zeros(())}
        for name, g in grads.items():
            squares[specs[name] == P()] += jnp.sum(g * g)
        norm = jnp.sqrt(squares[True] + lax.psum(squares[False], "data"))
        times = jnp.where(norm > most, most / norm, 1)
        return jax.tree.map(lambda g: g * times, grads)

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(specs,), out_specs=specs
    )(grads)


def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    for name, ours in runs.items():
        off = np.abs(np.divide(ours, theirs) - 1)
        if off.max() <= rounding:
            return name
    return ""
