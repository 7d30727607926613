"""A program: states of the explorer come in as JSON, what live JAX says of each on 16 simulated devices goes out."""

import json
import math
import sys

from minipod import devices, traffic

devices.simulate(16)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


def said(it: dict) -> dict:
    """`layout` of the array, `traffic` of the operation and what is there `after` it, as explorer.js gives them.

    Errors in whole; `after` only where there is none.
    """
    total = math.prod(it["mesh"])
    mesh = jax.make_mesh(tuple(it["mesh"]), tuple("xyz"[: len(it["mesh"])]), devices=jax.devices()[:total])

    def blocks_of(shape, sharding):
        where = sharding.devices_indices_map(shape)
        return [[list(s.indices(n)[:2]) for s, n in zip(where[d], shape, strict=True)] for d in mesh.devices.flat]

    def lies(spec):
        return NamedSharding(mesh, P(*(None if e == "-" else e if len(e) == 1 else tuple(e) for e in spec)))

    found: dict = {}
    try:
        shape, sharding = tuple(it["array"]), lies(it["spec"])
        blocks = blocks_of(shape, sharding)
        size = jnp.zeros(sharding.shard_shape(shape), "float32").nbytes
        found["layout"] = {"blocks": blocks, "bytes": size, "copies": blocks.count(blocks[0])}
    except Exception as error:
        return {"layout": {"error": str(error)}, "traffic": {"error": str(error)}}
    try:
        arguments, step = [jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)], None
        if it["do"] == "reshard":
            to = lies(it["to"])
            to.shard_shape(shape)
            step = jax.jit(lambda x: jax.sharding.reshard(x, to))
        elif it["do"] == "sum":
            step = jax.jit(lambda x: x.sum(it["dim"]))
        elif it["do"] == "matmul":
            second = (shape[1], it["columns"])
            lies(it["second"]).shard_shape(second)
            arguments.append(jax.ShapeDtypeStruct(second, "float32", sharding=lies(it["second"])))
            out = lies([it["spec"][0], it["second"][1]])
            step = jax.jit(lambda x, y: jnp.matmul(x, y, out_sharding=out))
        found["after"] = []
        if step:
            out = jax.eval_shape(step, *arguments)
            blocks = blocks_of(out.shape, NamedSharding(mesh, out.sharding.spec))
            found["after"] = [{"shape": list(out.shape), "blocks": blocks}]
        bill = traffic.of(step, *arguments, mesh=mesh) if step and total > 1 else []
        rows = [{"op": c.op, "axes": c.axes and list(c.axes), "bytes": c.bytes, "sent": c.sent} for c in bill]
        found["traffic"] = {"bill": rows}
    except Exception as error:
        found["traffic"] = {"error": str(error)}
    return found


print(json.dumps([said(it) for it in json.load(sys.stdin)]))
