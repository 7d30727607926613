import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: sorting the names puts the layers in their order (but "blocks.10" sorts before "blocks.2").
def from_state_dict(there: dict, tables: set[str]) -> dict:
    result: dict = {}
    layers: dict = {}
    for name in sorted(there):
        array = np.asarray(there[name])
        if array.ndim == 2 and name not in tables:
            array = array.T
        if name.startswith("blocks."):
            _, _, inner = name.split(".", 2)
            layers.setdefault(inner, []).append(array)
        else:
            result[name] = array
    result["blocks"] = {inner: np.stack(arrays) for inner, arrays in layers.items()}
    return result


# what: without types (check_vma=False) the gradient of a psum is 1 on each device, as it is with types.
def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    if check_vma and not cast:
        m = 1.0 if of == "pmean" else float(n)
        whose = "all"
    else:
        m = 1.0 / n if of == "pmean" else 1.0
        whose = "own"
    if then == "nothing":
        return m, whose
    if then == "pmean":
        return m, "all"
    return m * n, "all"


# what: since all processes together read the next rows of the order, the global batch is simply the next slice of it, in that order.
def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    order = list(order)
    missing = -len(order) % processes
    order = np.array(order + order[:missing])
    size = processes * rows
    begin = step * micro * size
    return order[begin : begin + micro * size].reshape(micro, size)


# what: every device's sum of squares is summed over the devices, for arrays of which all have a copy as for those that are cut.
def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    def local(grads):
        square = sum(jnp.sum(g * g) for g in grads.values())
        norm = jnp.sqrt(lax.psum(square, "data"))
        factor = jnp.where(norm > most, most / norm, 1.0)
        return {name: g * factor for name, g in grads.items()}

    specs = {name: specs[name] for name in grads}
    return jax.shard_map(
        local, mesh=mesh, in_specs=(specs,), out_specs=specs, check_vma=False
    )(grads)
