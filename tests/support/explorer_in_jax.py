"""A program: states of the explorer come in as JSON, what live JAX says of each on 16 simulated devices goes out."""

import json
import sys

from minipod import devices, traffic

devices.simulate(16)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


def said(it: dict) -> dict:
    """`layout` of the array and `traffic` of the operation, as explorer.js gives them; errors in whole."""
    total = 1
    for n in it["mesh"]:
        total *= n
    mesh = jax.make_mesh(tuple(it["mesh"]), tuple("xyz"[: len(it["mesh"])]), devices=jax.devices()[:total])

    def lies(spec):
        return NamedSharding(mesh, P(*(None if e == "-" else e if len(e) == 1 else tuple(e) for e in spec)))

    found: dict = {}
    try:
        shape, sharding = tuple(it["array"]), lies(it["spec"])
        where = sharding.devices_indices_map(shape)
        block = sharding.shard_shape(shape)
        blocks = [[list(s.indices(n)[:2]) for s, n in zip(where[d], shape, strict=True)] for d in mesh.devices.flat]
        copies = sum(where[d] == where[mesh.devices.flat[0]] for d in mesh.devices.flat)
        size = jnp.zeros(block, "float32").nbytes
        found["layout"] = {"blocks": blocks, "bytes": size, "copies": copies}
    except Exception as error:
        return {"layout": {"error": str(error)}, "traffic": {"error": str(error)}}
    try:
        x = jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)
        if it["do"] == "reshard":
            to = lies(it["to"])
            to.shard_shape(shape)
            bill = traffic.of(lambda x: jax.sharding.reshard(x, to), x, mesh=mesh) if total > 1 else []
        elif it["do"] == "sum":
            bill = traffic.of(lambda x: x.sum(it["dim"]), x, mesh=mesh) if total > 1 else []
        elif it["do"] == "matmul":
            second = (shape[1], it["columns"])
            lies(it["second"]).shard_shape(second)
            y = jax.ShapeDtypeStruct(second, "float32", sharding=lies(it["second"]))
            out = lies([it["spec"][0], it["second"][1]])
            both = jax.jit(lambda x, y: jnp.matmul(x, y, out_sharding=out))
            bill = traffic.of(both, x, y, mesh=mesh) if total > 1 else both.lower(x, y) and []
        else:
            bill = []
        rows = [{"op": c.op, "axes": c.axes and list(c.axes), "bytes": c.bytes, "sent": c.sent} for c in bill]
        found["traffic"] = {"bill": rows}
    except Exception as error:
        found["traffic"] = {"error": str(error)}
    return found


print(json.dumps([said(it) for it in json.load(sys.stdin)]))
