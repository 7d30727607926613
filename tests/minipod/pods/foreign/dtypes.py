"""Types of numbers."""

import jax
import jax.numpy as jnp
from shaped import array, batch, weights


def _product(mesh, left, right=None, out=jnp.float32):
    step = jax.jit(lambda x, w: jnp.dot(x, w, preferred_element_type=out))
    return step, (batch(mesh, left), weights(mesh, right or left))


def fp8_e4m3(mesh):
    """Eight bits, four of them for the exponent."""
    return _product(mesh, jnp.float8_e4m3fn)


def fp8_e5m2(mesh):
    """Eight bits, five of them for the exponent."""
    return _product(mesh, jnp.float8_e5m2)


def fp8_among_others(mesh):
    """One product in fp8, all the others in bf16."""

    def step(x, w):
        y = jnp.dot(x, w, preferred_element_type=jnp.float32)
        small = jnp.dot(x[:8].astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e4m3fn))
        return y, small

    return jax.jit(step), (batch(mesh, jnp.bfloat16), weights(mesh, jnp.bfloat16))


def int4(mesh):
    """A product of integers of four bits."""
    return _product(mesh, jnp.int4, out=jnp.int32)


def int4_weights(mesh):
    """Weights of four bits that are unpacked where they are used."""
    return jax.jit(lambda x, w: x @ w.astype(jnp.bfloat16)), (batch(mesh, jnp.bfloat16), weights(mesh, jnp.int4))


def fp4_weights(mesh):
    """Floats of four bits that are unpacked where they are used."""
    step = jax.jit(lambda x, w: x @ w.astype(jnp.bfloat16))
    return step, (batch(mesh, jnp.bfloat16), weights(mesh, jnp.float4_e2m1fn))


def int8(mesh):
    """A product of integers of eight bits."""
    return _product(mesh, jnp.int8, out=jnp.int32)


def int8_scaled(mesh):
    """Weights of eight bits with a scale for each column."""
    step = jax.jit(lambda x, w, s: (x @ w.astype(jnp.bfloat16)) * s)
    return step, (batch(mesh, jnp.bfloat16), weights(mesh, jnp.int8), array(mesh, (512,), "model"))


def int32(mesh):
    """A product of integers that no matrix unit multiplies."""
    return _product(mesh, jnp.int32, out=jnp.int32)


def float16(mesh):
    """The type of GPUs."""
    return _product(mesh, jnp.float16)


def mixed(mesh):
    """bf16 times float32."""
    return _product(mesh, jnp.bfloat16, jnp.float32)


def complex64(mesh):
    """Complex numbers: three real products each."""
    return jax.jit(lambda x, w: x @ w), (batch(mesh, jnp.complex64), weights(mesh, jnp.complex64))


def precise(mesh):
    """float32 in six passes."""
    return jax.jit(lambda x, w: jnp.dot(x, w, precision="highest")), (batch(mesh), weights(mesh))


def truth(mesh):
    """A mask, packed and unpacked."""
    step = jax.jit(lambda m, x: jnp.where(m, x, 0))
    return step, (array(mesh, (128, 256), "data", dtype=jnp.bool_), batch(mesh, jnp.bfloat16))


def random_bits(mesh):
    """Numbers without a key: unsigned integers, shifted."""
    return jax.jit(lambda x: (x >> 7) ^ (x << 9) * jnp.uint32(2654435761)), (batch(mesh, jnp.uint32),)
