"""The step of each way, to be compiled for any mesh of stages.

    minipod plan lessons/ch22_stages/planned.py:one_f_one_b_8 \\
        --on v5e:2x2 --mesh stage=4
"""

import functools

import by_grad
import jax
import jax.numpy as jnp
import parts
import schedule
from executor import executor
from jax import NamedSharding, P

WAYS = "by grad", "by grad, late", "gpipe", "one_f_one_b", "interleaved"


def step(way, microbatches, stages=4):
    """(w, tokens) → (loss, gradients), inside shard_map over "stage"."""
    if way.startswith("by grad"):
        early = way == "by grad"
        return jax.value_and_grad(lambda w, t: by_grad.loss(w, t, early))
    orders = getattr(schedule, way)(stages, microbatches)
    return executor(schedule.table(orders))


def program(mesh, way, microbatches, rows):
    """(the step, its arguments)."""
    f = jax.shard_map(
        step(way, microbatches, mesh.size),
        mesh=mesh,
        in_specs=(parts.SPECS, P()),
        out_specs=(P(), parts.SPECS),
    )
    chunks = 2 if way == "interleaved" else 1
    w = jax.eval_shape(
        lambda: parts.drawn(jax.random.key(0), mesh.size, chunks)
    )

    def on(a, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding)

    w = {n: on(a, parts.SPECS[n]) for n, a in w.items()}
    shape = microbatches, rows, parts.LENGTH + 1
    return jax.jit(f), (w, on(jax.ShapeDtypeStruct(shape, jnp.int32), P()))


@functools.cache
def compiled(mesh, way, microbatches, rows):
    """The step, compiled for these devices, and where its arguments lie."""
    f, args = program(mesh, way, microbatches, rows)
    return f.lower(*args).compile(), jax.tree.map(lambda a: a.sharding, args)


def by_grad_8(mesh):
    return program(mesh, "by grad", 8, 1024)


def by_grad_32(mesh):
    return program(mesh, "by grad", 32, 1024)


def gpipe_8(mesh):
    return program(mesh, "gpipe", 8, 1024)


def gpipe_32(mesh):
    return program(mesh, "gpipe", 32, 1024)


def one_f_one_b_8(mesh):
    return program(mesh, "one_f_one_b", 8, 1024)


def one_f_one_b_32(mesh):
    return program(mesh, "one_f_one_b", 32, 1024)


def interleaved_8(mesh):
    return program(mesh, "interleaved", 8, 1024)


def interleaved_32(mesh):
    return program(mesh, "interleaved", 32, 1024)
