"""Loops, of a length that is known, and of one that the values decide."""

import jax
import jax.numpy as jnp
from jax import lax
from shaped import array, batch, weights


def while_the_sum_is_small(mesh):
    """The end depends on the values."""
    return jax.jit(lambda x: lax.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, x)), (batch(mesh),)


def to_a_traced_bound(mesh):
    """fori_loop to a number that is an argument."""
    number = array(mesh, (), dtype=jnp.int32)
    return jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, x: jnp.sin(x), x)), (batch(mesh), number)


def generated(mesh):
    """Tokens until all have ended, sixty-four at most: the loop of every sampler."""

    def step(state, w):
        i, tokens, done = state
        hidden = jax.nn.one_hot(tokens[:, i], 256) @ w
        new = jnp.where(done, 0, hidden[:, :256].argmax(-1).astype(jnp.int32))
        return i + 1, lax.dynamic_update_index_in_dim(tokens, new, i + 1, 1), done | (new == 1)

    def generate(w, tokens):
        def goes_on(state):
            return (state[0] < 63) & ~state[2].all()

        start = jnp.int32(0), tokens, jnp.zeros(tokens.shape[0], bool)
        return lax.while_loop(goes_on, lambda state: step(state, w), start)[1]

    return jax.jit(generate), (weights(mesh), array(mesh, (16, 64), "data", dtype=jnp.int32))


def scanned(mesh):
    """Eight layers by a scan, and the gradient."""

    def loss(ws, x):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0].sum()

    return jax.jit(jax.grad(loss)), (array(mesh, (8, 256, 256), None, None, "model"), batch(mesh))


def scanned_again(mesh):
    """The same with remat: each layer is computed twice."""

    def loss(ws, x):
        layer = jax.checkpoint(lambda x, w: (jnp.tanh(x @ w), None))
        return lax.scan(layer, x, ws)[0].sum()

    return jax.jit(jax.grad(loss)), (array(mesh, (8, 256, 256), None, None, "model"), batch(mesh))


def unrolled(mesh):
    """A scan that is unrolled in part, with a rest."""

    def loss(ws, x):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws, unroll=3)[0].sum()

    return jax.jit(loss), (array(mesh, (8, 256, 256), None, None, "model"), batch(mesh))


def nested(mesh):
    """Microbatches around layers."""

    def loss(ws, xs):
        def layers(total, x):
            return total + lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0].sum(), None

        return lax.scan(layers, 0.0, xs)[0]

    xs = array(mesh, (4, 64, 256), None, "data")
    return jax.jit(jax.grad(loss)), (array(mesh, (3, 256, 256), None, None, "model"), xs)


def newton(mesh):
    """A root by lax.custom_root, whose loop ends by itself."""

    def root(x):
        def solver(f, y):
            return lax.while_loop(lambda y: jnp.abs(f(y)).max() > 1e-3, lambda y: y - f(y) / (2 * y), y)

        return lax.custom_root(lambda y: y * y - x, x, solver, lambda g, y: y / g(jnp.ones_like(y)))

    return jax.jit(jax.grad(lambda x: root(x).sum())), (batch(mesh),)


def linear_solver(mesh):
    """Conjugate gradients."""
    step = jax.jit(lambda x, b: jax.scipy.sparse.linalg.cg(lambda v: v @ x @ x.T + v, b, maxiter=20)[0])
    return step, (batch(mesh), array(mesh, (128,)))
