# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% one-array
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

arr = jnp.arange(32.0).reshape(4, 8)
print(arr.devices())
print(arr.sharding)

# %% picture-one-device
pictures.sharding(arr)

# %% a-mesh
mesh = jax.make_mesh((2, 4), ("x", "y"))
print(mesh)

# %% picture-mesh
pictures.mesh(mesh)

# %% device-put
sharding = NamedSharding(mesh, P("x", "y"))
arr_sharded = jax.device_put(arr, sharding)
print(sharding.spec, "->", arr_sharded.shape, "still one array")
print(arr_sharded)

# %% picture-both-axes
pictures.sharding(arr_sharded)

# %% jax-visualizer
jax.debug.visualize_array_sharding(arr_sharded)

# %% read-back
for shard in arr_sharded.addressable_shards[:3]:
    rows, columns = shard.index
    print(shard.device, "rows", rows, "columns", columns, shard.data.shape)

where = sharding.devices_indices_map(arr.shape)
print(where[jax.devices()[7]])


# %% typeof
print(jax.typeof(arr_sharded))
print(sharding.shard_shape(arr.shape), "on each device")


# %% place
def place(*spec):
    return jax.device_put(arr, NamedSharding(mesh, P(*spec)))


pictures.sharding(place("x"))

# %% columns-only
pictures.sharding(place(None, "y"))

# %% both-on-one
pictures.sharding(place(None, ("x", "y")))

# %% replicated
pictures.sharding(place())

# %% memory
for spec in [("x", "y"), ("x",), (None, "y"), (None, ("x", "y")), ()]:
    placed = place(*spec)
    held = [shard.data.nbytes for shard in placed.addressable_shards]
    print(
        f"{str(P(*spec)):22} {held[0]:4} bytes a device, {sum(held):5} in all"
    )

# %% replica-ids
for shard in place("x").addressable_shards:
    print(shard.device, shard.index, "copy", shard.replica_id)


# %% same-layout
a, b = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("x", None))
print(a == b, a.is_equivalent_to(b, ndim=2))

# %% a-tree
params = {
    "hidden": {"w": jnp.ones((8, 16)), "b": jnp.ones(16)},
    "out": {"w": jnp.ones((16, 4)), "b": jnp.ones(4)},
}
specs = {
    "hidden": {"w": P(None, "y"), "b": P("y")},
    "out": {"w": P("y", None), "b": P()},
}
shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)
placed = jax.device_put(params, shardings)
for name, layer in placed.items():
    print(name, {k: str(jax.typeof(v)) for k, v in layer.items()})

# %% free-work
doubled = 2 * jnp.sin(arr_sharded) + 1
print(doubled.sharding == arr_sharded.sharding)
traffic.table(traffic.of(lambda x: 2 * jnp.sin(x) + 1, arr_sharded))


# %% costly-move
def to_everyone(x):
    return jax.reshard(x, NamedSharding(mesh, P()))


traffic.table(traffic.of(to_everyone, arr_sharded))

# %% seventeen-rows
seventeen = jnp.ones((17, 4))
with expect_error(ValueError, "does not evenly divide"):
    jax.device_put(seventeen, NamedSharding(mesh, P(("x", "y"))))

# %% pad-first
missing = -len(seventeen) % mesh.size  # 7: from 17 up to 24
padded = jnp.pad(seventeen, ((0, missing), (0, 0)))
rows = jax.device_put(padded, NamedSharding(mesh, P(("x", "y"))))
print(padded.shape, "->", rows.addressable_shards[0].data.shape, "each")

with expect_error(Exception, "could not be resolved unambiguously"):
    rows[:17]


# %% silently-copied
auto = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


@jax.jit
def wish(x):
    wanted = NamedSharding(auto, P(("x", "y")))
    return jax.lax.with_sharding_constraint(x, wanted)


print(wish(jnp.ones((16, 4))).sharding.spec)
print(wish(jnp.ones((17, 4))).sharding.spec)

# %% axis-order
left = jax.device_put(jnp.arange(8), NamedSharding(mesh, P(("x", "y"))))
right = jax.device_put(jnp.arange(8), NamedSharding(mesh, P(("y", "x"))))
print("left: ", *(shard.data for shard in left.addressable_shards))
print("right:", *(shard.data for shard in right.addressable_shards))

with expect_error(Exception, "incompatible shardings"):
    left + right


# %% two-kinds-of-mesh
explicit = jax.make_mesh((2, 4), ("x", "y"))
plain = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
print("make_mesh:", explicit.axis_types)
print("Mesh:     ", plain.axis_types)

ours = jax.device_put(arr, NamedSharding(explicit, P("x", "y")))
theirs = jax.device_put(arr, NamedSharding(plain, P("x", "y")))
with expect_error(ValueError, "Mesh for all inputs should be equal"):
    ours + theirs


# %% then-spec-alone
with expect_error(ValueError, "Please set a mesh"):
    jax.device_put(arr, P("x", "y"))

with jax.set_mesh(mesh):
    print(jax.typeof(jax.device_put(arr, P("x", "y"))))

# %% then-three-dimensions
cube = jnp.zeros((2, 4, 2))
cut = jax.device_put(cube, NamedSharding(mesh, P("x", "y", None)))
with expect_error(ValueError, "1 and 2 dimensions"):
    jax.debug.visualize_array_sharding(cut)

# %% picture-cube
pictures.sharding(cut)
