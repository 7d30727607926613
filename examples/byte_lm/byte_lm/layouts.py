"""Which dimension of which array lies along which axis of the mesh. Change the layout here.

The mesh has two axes of devices. "data" cuts the rows of a batch and, by the table below, the width of all weights:
each device keeps a part of every weight and gathers the rest where it is used (FSDP, ZeRO-3). "model" cuts heads and
hidden units (tensor parallelism). So data=8,model=1 is FSDP, data=2,model=4 is both, data=1,model=8 is tensors alone.
"""

import math

import jax
from jax import P

from byte_lm import Unusable

WIDTH = "data"  # None: whole weights on all devices along "data", plain data parallelism
HEADS = HIDDEN = VOCABULARY = "model"
ROWS = P("data")  # of tokens, int32[rows, length + 1]
FLOWING = P("data", None, None)  # of what flows between layers, f32[rows, length, width]


def parse(text: str, devices: int) -> dict[str, int]:
    """ "data=2,model=4" as sizes of both axes; what is not named is 1. Unusable unless they are so many devices."""
    sizes = {"data": 1, "model": 1}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in sizes or not number.isdecimal() or not int(number):
            raise Unusable(f"a mesh is given as data=2,model=4, not as {text}")
        sizes[name] = int(number)
    if math.prod(sizes.values()) != devices:
        product = " · ".join(map(str, sizes.values()))
        raise Unusable(f"a mesh of {product} = {math.prod(sizes.values())} devices, but there are {devices}")
    return sizes


def make_mesh(data: int, model: int = 1) -> jax.sharding.Mesh:
    """A mesh of the first data · model devices, with Explicit axes: layouts are part of the arrays' types."""
    return jax.make_mesh((data, model), ("data", "model"), devices=jax.devices()[: data * model])


def gathered(w: jax.Array) -> jax.Array:
    """w, whole along "data"; its gradient stays a part of a sum until the optimiser's layout says who needs what."""
    spec = jax.typeof(w).sharding.spec
    return jax.reshard(w, P(*(None if axis == "data" else axis for axis in spec), reduced={"data"}))
