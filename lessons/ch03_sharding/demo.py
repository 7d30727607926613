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
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

arr = jnp.arange(32.0).reshape(4, 8)
print(arr.devices(), arr.sharding)
pictures.sharding(arr)

# %% a-mesh
mesh = jax.make_mesh((2, 4), ("x", "y"))
print(mesh)
pictures.mesh(mesh)

# %% device-put
sharding = NamedSharding(mesh, P("x", "y"))
arr_sharded = jax.device_put(arr, sharding)
print(arr_sharded)
pictures.sharding(arr_sharded)

# %% two-kinds-of-mesh
plain = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
print("make_mesh:", mesh.axis_types)
print("Mesh:     ", plain.axis_types)

theirs = jax.device_put(arr, NamedSharding(plain, P("x", "y")))
with expect_error(ValueError, "Mesh for all inputs should be equal"):
    arr_sharded + theirs

# %% read-back
print(jax.typeof(arr_sharded), "in shards of", sharding.shard_shape(arr.shape))
for shard in arr_sharded.addressable_shards[:3]:
    rows, columns = shard.index
    print(shard.device, "rows", rows, "columns", columns, shard.data.shape)

where = sharding.devices_indices_map(arr.shape)
print(where[jax.devices()[7]])

# %% jax-visualizer
jax.debug.visualize_array_sharding(arr_sharded)


# %% place
def place(*spec):
    return jax.device_put(arr, NamedSharding(mesh, P(*spec)))


pictures.sharding(place("x"))

# %% both-on-one
pictures.sharding(place(None, ("x", "y")))

# %% axis-order
for axes in ("x", "y"), ("y", "x"):
    eight = jax.device_put(jnp.arange(8), NamedSharding(mesh, P(axes)))
    print(axes, *(shard.data for shard in eight.addressable_shards))

# %% memory
for spec in [("x", "y"), ("x",), (None, "y"), (None, ("x", "y")), ()]:
    held = [shard.data.nbytes for shard in place(*spec).addressable_shards]
    print(f"{P(*spec)!s:22} {held[0]:4} bytes a device, {sum(held):5} in all")

# %% same-layout
a, b = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("x", None))
print(a == b, a.is_equivalent_to(b, ndim=2))

# %% a-tree
params = {"w": jnp.ones((8, 16)), "b": jnp.ones(16)}
specs = {"w": P(None, "y"), "b": P("y")}
shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)
placed = jax.device_put(params, shardings)
print({name: str(jax.typeof(value)) for name, value in placed.items()})


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

# %% then-spec-alone
with expect_error(ValueError, "Please set a mesh"):
    jax.device_put(arr, P("x", "y"))

with jax.set_mesh(mesh):
    print(jax.typeof(jax.device_put(arr, P("x", "y"))))
