"""A few lines with each library that people write models in; a program whose library is missing is left out."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from shaped import array, batch, weights


def _placed(mesh, tree, *spec):
    """Shapes with a sharding: matrices as said, all else everywhere."""

    def place(x):
        cut = spec if x.ndim == 2 else ()
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P(*cut)))

    return jax.tree.map(place, tree)


def nnx_jit(mesh):
    """Flax NNX: nnx.jit of a function that takes the model itself, made here."""
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.up, self.down = nnx.Linear(256, 512, rngs=rngs), nnx.Linear(512, 256, rngs=rngs)

        def __call__(self, x):
            return self.down(nnx.relu(self.up(x)))

    @nnx.jit
    def step(model, x):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        nnx.update(model, jax.tree.map(lambda w, g: w - 0.1 * g, nnx.state(model), grads))
        return loss

    return step, (Model(nnx.Rngs(0)), batch(mesh))


def nnx_split(mesh):
    """Flax NNX: eval_shape, split, merge, and jax.jit of arrays."""
    from flax import nnx

    model = nnx.eval_shape(lambda: nnx.Linear(256, 512, rngs=nnx.Rngs(0)))
    graph, state = nnx.split(model)

    def step(state, x):
        return jax.grad(lambda state: (nnx.merge(graph, state)(x) ** 2).sum())(state)

    return jax.jit(step, donate_argnums=0), (_placed(mesh, state, None, "model"), batch(mesh))


def nnx_optimizer(mesh):
    """Flax NNX: nnx.jit of a model and its optimizer, only described."""
    import optax
    from flax import nnx

    def init():
        model = nnx.MultiHeadAttention(8, 256, decode=False, rngs=nnx.Rngs(0))
        return model, nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(model, grads)
        return loss

    return step, (*nnx.eval_shape(init), array(mesh, (8, 64, 256), "data"))


def nnx_shared(mesh):
    """Flax NNX: an optimizer of one's own that holds the model's parameters, which are one argument and not two."""
    from flax import nnx

    class Descent(nnx.Pytree):
        def __init__(self, params):
            self.params = nnx.data(params)

        def update(self, grads):
            def one(w, g):
                w[...] -= 0.1 * g[...]

            jax.tree.map(one, self.params, grads, is_leaf=lambda x: isinstance(x, nnx.Variable))

    def init():
        model = nnx.Linear(256, 512, rngs=nnx.Rngs(0))
        return model, Descent(nnx.variables(model, nnx.Param))

    @nnx.jit
    def step(model, optimizer, x):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(grads)
        return loss

    return step, (*nnx.eval_shape(init), batch(mesh))


def linen_train_state(mesh):
    """Flax Linen: a TrainState with Adam, and dropout."""
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.Dropout(0.1, deterministic=not train)(nn.relu(nn.Dense(512)(x)))
            return nn.Dense(256)(x)

    model = Model()

    def init(key):
        params = model.init(key, jnp.zeros((1, 256)), train=False)["params"]
        return TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))

    @partial(jax.jit, donate_argnums=0)
    def step(state, x, key):
        def loss(p):
            return (state.apply_fn({"params": p}, x, train=True, rngs={"dropout": key}) ** 2).mean()

        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    state = jax.eval_shape(init, jax.random.key(0))
    return step, (_placed(mesh, state, None, "model"), batch(mesh), array(mesh, (), dtype=jax.random.key(0).dtype))


def linen_logical_axes(mesh):
    """Flax Linen: names of axes, and rules that make shardings of them."""
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            init = nn.with_logical_partitioning(nn.initializers.lecun_normal(), ("embed", "mlp"))
            return nn.with_logical_constraint(nn.Dense(512, kernel_init=init)(x), ("batch", "mlp"))

    model, rules = Model(), (("batch", "data"), ("mlp", "model"), ("embed", None))
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), jnp.zeros((1, 256))))
    places = nn.logical_to_mesh_sharding(nn.get_partition_spec(shapes), mesh, rules)
    place = NamedSharding(mesh, P("data"))
    step = jax.jit(lambda v, x: model.apply(v, x), in_shardings=(places, place))
    return step, (nn.unbox(shapes), jax.ShapeDtypeStruct((128, 256), jnp.float32))


def linen_convolutions(mesh):
    """Flax Linen: convolutions with BatchNorm, whose averages the step changes, and dropout."""
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(32, (3, 3))(x)))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2)).reshape(x.shape[0], -1)
            return nn.Dense(10)(nn.Dropout(0.5, deterministic=False)(x))

    model = Model()

    def loss(params, averages, x, y, key):
        variables = {"params": params, "batch_stats": averages}
        said, changed = model.apply(variables, x, rngs={"dropout": key}, mutable=["batch_stats"])
        return -jnp.take_along_axis(nn.log_softmax(said), y[:, None], 1).mean(), changed["batch_stats"]

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, averages, x, y, key):
        grads, averages = jax.grad(loss, has_aux=True)(params, averages, x, y, key)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, grads), averages

    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    made = jax.eval_shape(lambda: model.init(keys, jnp.zeros((1, 28, 28, 1))))
    held = (_placed(mesh, made[name]) for name in ("params", "batch_stats"))
    images = array(mesh, (256, 28, 28, 1), "data"), array(mesh, (256,), "data", dtype=jnp.int32)
    return step, (*held, *images, jax.random.key(2))


def equinox_filter_jit(mesh):
    """Equinox: filter_jit of a model, in which functions are leaves, and arrays made here; the mesh is named inside."""
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(256, 256, 512, 2, key=jax.random.key(0))
    optimizer = optax.adam(1e-3)

    @eqx.filter_jit
    def step(model, state, x):
        x = eqx.filter_shard(x, NamedSharding(mesh, P("data")))
        grads = eqx.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).mean())(model)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(model, updates), state

    return step, (model, optimizer.init(eqx.filter(model, eqx.is_array)), jnp.zeros((128, 256)))


def equinox_shapes(mesh):
    """Equinox: filter_eval_shape, then filter_jit of a model that is only described, which Equinox does not lower."""
    import equinox as eqx

    model = eqx.filter_eval_shape(eqx.nn.MLP, 256, 256, 512, 2, key=jax.random.key(0))
    shapes, rest = eqx.partition(model, lambda x: isinstance(x, jax.ShapeDtypeStruct))
    model = eqx.combine(_placed(mesh, shapes, "model"), rest)
    return eqx.filter_jit(lambda m, x: jax.vmap(m)(x)), (model, batch(mesh))


def equinox_partition(mesh):
    """Equinox: partition, combine, and jax.jit of arrays."""
    import equinox as eqx

    model = eqx.filter_eval_shape(eqx.nn.MLP, 256, 256, 512, 2, key=jax.random.key(0))
    shapes, rest = eqx.partition(model, lambda x: isinstance(x, jax.ShapeDtypeStruct))

    def step(arrays, x):
        return jax.grad(lambda arrays: jax.vmap(eqx.combine(arrays, rest))(x).sum())(arrays)

    return jax.jit(step), (_placed(mesh, shapes, "model"), batch(mesh))


def haiku(mesh):
    """Haiku: transform, and an optimizer of Optax."""
    import haiku as hk
    import optax

    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([512, 256])(x)))
    return _trained(mesh, net.apply, jax.eval_shape(net.init, jax.random.key(0), jnp.zeros((1, 256))), optax.sgd(0.1))


def _trained(mesh, apply, params, optimizer):
    def step(params, state, x):
        grads = jax.grad(lambda p: (apply(p, x) ** 2).mean())(params)
        updates, state = optimizer.update(grads, state, params)
        return jax.tree.map(jnp.add, params, updates), state

    params, state = (_placed(mesh, t, None, "model") for t in (params, jax.eval_shape(optimizer.init, params)))
    return jax.jit(step, donate_argnums=(0, 1)), (params, state, batch(mesh))


def _optimized(mesh, optimizer):
    params = {"w": weights(mesh), "b": array(mesh, (512,), "model")}
    return _trained(mesh, lambda p, x: x @ p["w"] + p["b"], params, optimizer)


def optax_chain(mesh):
    """Optax: clipping, Adam, decay, a schedule."""
    import optax

    rate = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)
    return _optimized(mesh, optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate)))


def optax_multi_steps(mesh):
    """Optax: an update in every fourth step."""
    import optax

    return _optimized(mesh, optax.MultiSteps(optax.adam(1e-3), every_k_schedule=4).gradient_transformation())


def optax_muon(mesh):
    """Optax: Muon."""
    import optax

    return _optimized(mesh, optax.contrib.muon(1e-3))


def optax_adafactor(mesh):
    """Optax: Adafactor."""
    import optax

    return _optimized(mesh, optax.adafactor(1e-3))


def optax_lbfgs(mesh):
    """Optax: L-BFGS, with a search along a line."""
    import optax

    optimizer = optax.lbfgs()

    def step(w, state, x):
        def loss(w):
            return ((x @ w) ** 2).mean()

        value, grad = optax.value_and_grad_from_state(loss)(w, state=state)
        updates, state = optimizer.update(grad, state, w, value=value, grad=grad, value_fn=loss)
        return w + updates, state

    w = weights(mesh)
    return jax.jit(step), (w, _placed(mesh, jax.eval_shape(optimizer.init, w)), batch(mesh))
