import jax
from jax import P

from minipod import traffic
from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((2, 4), ("host", "device"))


def bill(axis):
    @jax.shard_map(mesh=mesh, in_specs=P(("host", "device")), out_specs=P(None))
    def total(x):
        return jax.lax.psum(x, axis)

    sharding = jax.NamedSharding(mesh, P(("host", "device")))
    xs = jax.ShapeDtypeStruct((8 * 1024,), "float32", sharding=sharding)
    (collective,) = traffic.of(total, xs)
    print(axis, collective.op, collective.bytes, "bytes", collective.groups)


if jax.process_index() == 0:
    bill(("host", "device"))
