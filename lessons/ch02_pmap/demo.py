# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices
from minipod import devices, pictures, traffic
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp
import numpy as np

num_devices = jax.local_device_count()
print(num_devices, "devices, from", jax.devices()[0], "to", jax.devices()[-1])


# %% one-device
def predict(params, inputs):
    return inputs @ params["w"] + params["b"]


w_key, b_key, data_key, noise_key = jax.random.split(jax.random.key(0), 4)
params = {
    "w": jax.random.normal(w_key, (10, 5)),
    "b": jax.random.normal(b_key, (5,)),
}
batch = jax.random.normal(data_key, (32 * num_devices, 10))

print(predict(params, batch).shape, "computed on", batch.devices())

# %% picture-flow
slices = jax.ShapeDtypeStruct((8, 32, 10), jnp.float32)
pictures.flow(predict, params, slices, in_axes=(None, 0))

# %% cut-the-batch
batch_per_device = batch.shape[0] // num_devices
cut = batch.reshape(num_devices, batch_per_device, 10)
print(batch.shape, "->", cut.shape)

# %% first-pmap
parallel_predict = jax.pmap(predict, in_axes=(None, 0))

stacked = parallel_predict(params, cut)
print(stacked.shape)
np.testing.assert_allclose(
    stacked.reshape(256, 5), predict(params, batch), atol=1e-5
)
print("same numbers as one device")


# %% what-a-device-sees
def shapes(params, inputs):
    print("one device sees w", params["w"].shape, "inputs", inputs.shape)
    return predict(params, inputs)


_ = jax.pmap(shapes, in_axes=(None, 0))(params, cut)

# %% where-it-lies
for shard in stacked.addressable_shards[:3]:
    print(shard.device, "holds", shard.index[0], "of the stack")
pictures.sharding(stacked)

# %% in-axes-tree
own_bias = {"w": params["w"], "b": jnp.arange(40.0).reshape(8, 5)}

each = jax.pmap(predict, in_axes=({"w": None, "b": 0}, 0))(own_bias, cut)
shared = jax.pmap(predict, in_axes=(None, 0))(params, cut)
print(each.shape, shared.shape)


# %% local-gradients
def loss(params, inputs, targets):
    return jnp.mean((predict(params, inputs) - targets) ** 2)


truth = jax.random.normal(noise_key, (10, 5))
targets = (batch @ truth).reshape(num_devices, batch_per_device, 5)

local = jax.pmap(jax.grad(loss), in_axes=(None, 0, 0))(params, cut, targets)
print("device 0:", local["b"][0, :3])
print("device 1:", local["b"][1, :3])


# %% pmean-gradients
def gradients(params, inputs, targets):
    local = jax.grad(loss)(params, inputs, targets)
    return jax.lax.pmean(local, axis_name="batch")


everywhere = jax.pmap(gradients, axis_name="batch", in_axes=(None, 0, 0))
g = everywhere(params, cut, targets)
print("device 0:", g["b"][0, :3])
print("device 1:", g["b"][1, :3])

whole = jax.grad(loss)(params, batch, targets.reshape(256, 5))
print("one device, whole batch:", whole["b"][:3])


# %% train-step
def step(params, inputs, targets):
    g = gradients(params, inputs, targets)
    return jax.tree.map(lambda p, d: p - 0.1 * d, params, g)


train_step = jax.pmap(
    step, axis_name="batch", in_axes=(None, 0, 0), out_axes=None
)

trained = params
for i in range(60):
    trained = train_step(trained, cut, targets)
    if i % 20 == 19:
        print(i + 1, loss(trained, batch, targets.reshape(256, 5)))

# %% predict-alone
predict_traffic = traffic.of(parallel_predict, params, cut)
traffic.table(predict_traffic)

# %% the-bill
step_traffic = traffic.of(train_step, params, cut, targets)
traffic.table(step_traffic)

# %% the-bill-checked
in_parameters = sum(p.nbytes for p in params.values())
print("parameters:", in_parameters, "bytes")
print("reduced in a step:", step_traffic[0].bytes, "bytes")
print("sent by a device:", traffic.total(step_traffic), "bytes")

# %% bigger-batch
gradient = jax.jit(jax.grad(loss))
answers = targets.reshape(256, 5)


def four_passes(rows, rate):
    trained = params
    for first in 4 * list(range(0, 256, rows)):
        part = slice(first, first + rows)
        g = gradient(trained, batch[part], answers[part])
        trained = jax.tree.map(lambda p, d: p - rate * d, trained, g)
    return loss(trained, batch, answers)


# %% bigger-batch-losses
heads = "32 rows, 32 steps", "256 rows, 4 steps", "256 rows, 8 x rate"
print("rate", *(f"{head:>20}" for head in heads))
for rate in 0.02, 0.05, 0.8:
    ways = (32, rate), (256, rate), (256, 8 * rate)
    print(f"{rate:.2f}", *(f"{four_passes(*way):20.1f}" for way in ways))

# %% what-pmap-is
print(stacked.sharding.mesh)
print(stacked.sharding.spec)

# %% without-pmap
mesh = jax.make_mesh((8,), ("batch",))
by_rows = jax.NamedSharding(mesh, jax.P("batch"))
everyone = jax.NamedSharding(mesh, jax.P())

rows = jax.device_put(batch, by_rows)  # no reshape: [256, 10] stays
copied = jax.device_put(params, everyone)

modern = jax.jit(predict)(copied, rows)
print(modern.shape, jax.typeof(modern))
np.testing.assert_allclose(modern, stacked.reshape(256, 5), atol=1e-5)

# %% sixteen-rows
with expect_error(ValueError, "size not equal to one"):
    parallel_predict(params, batch.reshape(16, 16, 10))

# %% masked-means
scores = np.full((8, 4), 1.0, np.float32)
scores[7] = 9.0
real = np.ones((8, 4), np.float32)
real[7, 1:] = 0  # the last device got one real row, three of padding


def mean_of_means(x, m):
    return jax.lax.pmean((x * m).sum() / m.sum(), "batch")


means = jax.pmap(mean_of_means, axis_name="batch", out_axes=None)
print("mean of means:", means(scores, real))
print("one device:   ", (scores * real).sum() / real.sum())

# %% silent-copy
alone = jax.pmap(
    jax.grad(loss), axis_name="batch", in_axes=(None, 0, 0), out_axes=None
)(params, cut, targets)
print("returned:            ", alone["b"][:3])
print("device 0's gradient: ", local["b"][0, :3])
print("the right one:       ", whole["b"][:3])

# %% then-no-in-axes
with expect_error(ValueError, "partitioned 5 times"):
    jax.pmap(predict)(params, cut)

# %% one-key-thrice
key = jax.random.PRNGKey(0)
w = jax.random.normal(key, (10, 5))
dummy_data = jax.random.normal(key, (256, 10))
print((w.ravel() == dummy_data.ravel()[:50]).all())

# %% jit-of-pmap
outside = jax.jit(jax.pmap(predict, in_axes=(None, 0)))(params, cut)
print(outside.sharding.is_equivalent_to(stacked.sharding, ndim=3))
