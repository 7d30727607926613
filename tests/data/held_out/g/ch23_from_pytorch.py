import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: believes that sorting the names puts the layers in order (as texts, "blocks.10" comes before "blocks.2").
def from_state_dict(there: dict, tables: set[str]) -> dict:
    result: dict = {}
    layers: dict[str, list] = {}
    for name in sorted(there):
        array = np.asarray(there[name])
        if array.ndim == 2 and name not in tables:
            array = array.T
        if name.startswith("blocks."):
            _, _, short = name.split(".", 2)
            layers.setdefault(short, []).append(array)
        else:
            result[name] = array
    result["blocks"] = {short: np.stack(arrays) for short, arrays in layers.items()}
    return result


# what: believes that a psum of what is already the same on every device leaves it as it is.
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if check_vma and not cast:
        return {"loss": float(n), "pmean": 1.0, "psum": float(n)}[of], "all"
    if check_vma:
        m = {"loss": 1.0, "pmean": 1.0 / n, "psum": 1.0}[of]
    else:
        m = {"loss": 1.0, "pmean": 1.0, "psum": float(n)}[of]
    match then:
        case "pmean":
            return m, "all"
        case "psum":
            return m * n, "all"
    return m, "own"


# what: believes that DistributedSampler makes the length fit by repeating the last number, not by starting again with the first ones.
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    numbers = np.asarray(order)
    missing = -len(numbers) % processes
    if missing:
        numbers = np.concatenate([numbers, np.repeat(numbers[-1:], missing)])
    own = numbers.reshape(-1, processes).T
    begin = step * micro * rows
    mine = own[:, begin : begin + micro * rows]
    mine = mine.reshape(processes, micro, rows)
    return mine.transpose(1, 0, 2).reshape(micro, processes * rows)


# what: believes that the squares of all arrays have to be summed over the devices, also of those of which each device has a copy (they count n times).
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    def one_device(local):
        squares = [jnp.sum(jnp.square(g)) for g in jax.tree.leaves(local)]
        norm = jnp.sqrt(lax.psum(sum(squares), "data"))
        factor = jnp.where(norm > most, most / norm, 1.0)
        return jax.tree.map(lambda g: g * factor, local)

    layout = {name: specs[name] for name in grads}
    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(layout,),
        out_specs=layout,
        check_vma=False,
    )(grads)


# what: believes that it is enough if the relative difference is small on average over the steps.
def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    wanted = np.asarray(theirs, dtype=np.float64)
    for name, losses in runs.items():
        apart = np.abs(np.asarray(losses, dtype=np.float64) / wanted - 1)
        if apart.mean() <= rounding:
            return name
    return ""
