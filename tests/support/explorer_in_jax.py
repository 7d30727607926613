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
    """`layout` of the array, `traffic` of the operation and what is there `after` it, as explorer.js gives them.

    Errors in whole; `after` only where there is none.
    """
    total = 1
    for n in it["mesh"]:
        total *= n
    mesh = jax.make_mesh(tuple(it["mesh"]), tuple("xyz"[: len(it["mesh"])]), devices=jax.devices()[:total])

    def blocks_of(shape, sharding):
        where = sharding.devices_indices_map(shape)
        return [[list(s.indices(n)[:2]) for s, n in zip(where[d], shape, strict=True)] for d in mesh.devices.flat]

    def after(f, *arguments):
        out = jax.eval_shape(f, *arguments)
        return [{"shape": list(out.shape), "blocks": blocks_of(out.shape, NamedSharding(mesh, out.sharding.spec))}]

    def lies(spec):
        return NamedSharding(mesh, P(*(None if e == "-" else e if len(e) == 1 else tuple(e) for e in spec)))

    found: dict = {}
    try:
        shape, sharding = tuple(it["array"]), lies(it["spec"])
        where = sharding.devices_indices_map(shape)
        block = sharding.shard_shape(shape)
        blocks = blocks_of(shape, sharding)
        copies = sum(where[d] == where[mesh.devices.flat[0]] for d in mesh.devices.flat)
        size = jnp.zeros(block, "float32").nbytes
        found["layout"] = {"blocks": blocks, "bytes": size, "copies": copies}
    except Exception as error:
        return {"layout": {"error": str(error)}, "traffic": {"error": str(error)}}
    try:
        x, step = jax.ShapeDtypeStruct(shape, "float32", sharding=sharding), None
        arguments = [x]
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
        found["after"] = after(step, *arguments) if step else []
        bill = traffic.of(step, *arguments, mesh=mesh) if step and total > 1 else []
        rows = [{"op": c.op, "axes": c.axes and list(c.axes), "bytes": c.bytes, "sent": c.sent} for c in bill]
        found["traffic"] = {"bill": rows}
    except Exception as error:
        found["traffic"] = {"error": str(error)}
    return found


print(json.dumps([said(it) for it in json.load(sys.stdin)]))
