import jax
from jax import P

from minipod import traffic
from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("i",))


@jax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
def total(x):  # x: f32[1024], 4096 bytes on each device
    return jax.lax.psum(x, "i")


sharding = jax.NamedSharding(mesh, P("i"))
xs = jax.ShapeDtypeStruct((8 * 1024,), "float32", sharding=sharding)
if jax.process_index() == 0:  # compiling sends nothing
    for collective in traffic.of(total, xs):
        print(collective.op, "of", collective.bytes, "bytes,", end=" ")
        print(collective.sent, "sent by each device")
        print("among mesh positions", *collective.groups)
