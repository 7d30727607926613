"""Operations that are no products: XLA has some as calls of its own, and some as loops."""

import jax
import jax.numpy as jnp
from jax import lax
from shaped import array, batch, weights


def _many(mesh, dtype=jnp.float32):
    return array(mesh, (8, 128, 128), "data", dtype=dtype)


def cholesky(mesh):
    """A call of the compiler's own."""
    return jax.jit(jnp.linalg.cholesky), (_many(mesh),)


def cholesky_solve(mesh):
    """Factor, then two triangular solves, and the gradient of that."""

    def loss(a, b):
        return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b).sum()

    return jax.jit(jax.grad(loss)), (_many(mesh), _many(mesh))


def qr(mesh):
    """Orthogonalised, as some optimizers do."""
    return jax.jit(jnp.linalg.qr), (_many(mesh),)


def solve(mesh):
    """By LU."""
    return jax.jit(jnp.linalg.solve), (_many(mesh), _many(mesh))


def inverse(mesh):
    """An inverse and a determinant."""
    return jax.jit(lambda a: (jnp.linalg.inv(a), jnp.linalg.slogdet(a))), (_many(mesh),)


def eigh(mesh):
    """A loop that ends when it is precise."""
    return jax.jit(jnp.linalg.eigh), (_many(mesh),)


def svd(mesh):
    """Loops that end when they are precise."""
    return jax.jit(lambda a: jnp.linalg.svd(a, full_matrices=False)), (array(mesh, (2, 128, 64), "data"),)


def eigenvalues(mesh):
    """TPUs have no such operation: JAX refuses it."""
    return jax.jit(jnp.linalg.eigvals), (_many(mesh),)


def sort(mesh):
    """Along an axis that is not cut, and along one that is."""
    return jax.jit(lambda x: (jnp.sort(x, axis=1), jnp.argsort(x, axis=0))), (batch(mesh),)


def top_k(mesh):
    """Experts are chosen like this."""
    return jax.jit(lambda x: lax.top_k(x, 8)), (batch(mesh),)


def approx_max_k(mesh):
    """The search that only TPUs have."""
    return jax.jit(lambda x: lax.approx_max_k(x, 8)), (array(mesh, (128, 8192), "data"),)


def fft(mesh):
    """A Fourier transform and back."""
    return jax.jit(lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2)), (batch(mesh),)


def ragged_dot(mesh):
    """Experts with as many rows as came to each."""

    def experts(x, w, sizes):
        return lax.ragged_dot(x, w, sizes)

    w = array(mesh, (4, 256, 512), None, None, "model")
    return jax.jit(experts), (batch(mesh), w, array(mesh, (4,), dtype=jnp.int32))


def convolution(mesh):
    """A convolution of pictures, and its gradients."""

    def loss(w, x):
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers).mean()

    return jax.jit(jax.grad(loss)), (array(mesh, (3, 3, 16, 32)), array(mesh, (8, 32, 32, 16), "data"))


def scattered(mesh):
    """A table that is read by numbers, and its gradient is written by them."""

    def loss(table, at):
        return jnp.tanh(table[at]).sum()

    return jax.jit(jax.grad(loss)), (weights(mesh), array(mesh, (64,), "data", dtype=jnp.int32))


def cumulated(mesh):
    """Sums of all that stands before, along an axis that is cut, and one that is not."""
    return jax.jit(lambda x: jnp.cumsum(x, 0) + lax.associative_scan(jnp.maximum, x, axis=1)), (batch(mesh),)


def exponential(mesh):
    """A series whose length depends on the matrix."""
    return jax.jit(jax.scipy.linalg.expm), (array(mesh, (64, 64)),)


def histogram(mesh):
    """How many are there of each."""
    return jax.jit(lambda x: jnp.bincount(x.reshape(-1), length=32)), (batch(mesh, jnp.int32),)
