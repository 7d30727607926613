"""Record how long chapter 20's decode with the 8B model takes on one real GPU, and where the time goes: gpu.json.

It needs a GPU of 80 GB and JAX for it. The weights are random, because the time does not depend on them.
`record_gpu.py small` tries it on any machine and writes nothing.
"""

import math
import sys
import tempfile
import time
from functools import partial
from unittest import mock

import jax
import jax.numpy as jnp

from minipod import profiles
from publish.recorders import LESSONS, save

HERE = LESSONS / "ch20_serving"
sys.path.insert(0, str(HERE))  # its programs import each other by their bare names

from lessons.ch20_serving.arrays import LLAMA_8B, SMALL, empty, int8_of, shapes  # noqa: E402
from lessons.ch20_serving.decoder import program  # noqa: E402
from lessons.ch20_serving.run import mesh_of  # noqa: E402
from lessons.ch20_serving.turned import turned  # noqa: E402

STEPS = 20  # timed together


@partial(jax.jit, static_argnums=(1, 2))
def filled(key, shape, size):
    return jax.random.normal(key, shape, jnp.bfloat16) * size**-0.5


def weights(s, int8):
    """Make the weights one array after the other, so that never all of them exist in float32."""
    key, made = jax.random.key(0), {}
    for name, (shape, _, axes) in shapes(s).items():
        key, this = jax.random.split(key)
        made[name] = filled(this, shape, math.prod(shape[a] for a in axes or ()))
        if int8 and axes:
            alone = jax.jit(lambda x, n=name: int8_of({n: x}, s)[n])
            made[name] = alone(made[name])
    return made


def lowered(step, args, loop):
    """Lower a step. loop: whether the layers are in a loop, as written, or one after another."""
    if loop:
        return step.lower(*args)
    with mock.patch("jax.lax.scan", partial(jax.lax.scan, unroll=True)):
        return step.lower(*args)


def seconds(step, tokens, first, w, cache):
    """Return the seconds of one step; each step donates its cache to the next."""

    def run(steps, cache):
        for _ in range(steps):
            _, cache = step(tokens, first, w, cache)
        return jax.block_until_ready(cache)

    cache = run(3, cache)  # not timed
    began = time.perf_counter()
    run(STEPS, cache)
    return (time.perf_counter() - began) / STEPS


def row(s, mesh, w, way, int8, batch, room, prompt):
    """Measure one step: `prompt` tokens of each of `batch` sequences, at the end of a cache with `room` positions."""
    cache = empty(s, batch, room, int8, jnp.bfloat16)
    step = program(s, mesh, "heads", int8)
    if way == "turned":  # the cache in the other order, its sizes the same
        step, (*_, shaped) = turned(mesh, s, batch, room)
        cache = {n: jnp.zeros(x.shape, x.dtype) for n, x in shaped.items()}
    tokens = jnp.ones((batch, prompt), jnp.int32)
    args = tokens, jnp.int32(room - prompt), w, cache
    compiled = lowered(step, args, loop=way == "loop").compile()
    read = {n: x for n, x in w.items() if n != "embed"}
    size = {
        "weights": sum(x.nbytes for x in jax.tree.leaves(read)),
        "cache": sum(x.nbytes for x in jax.tree.leaves(cache)),
        "temporaries": compiled.memory_analysis().temp_size_in_bytes,
    }
    of = {"way": way, "int8": int8, "batch": batch, "prompt": prompt}
    took = seconds(compiled, *args)
    print(of, size, f"{1e3 * took:.2f} ms", flush=True)
    return of | size | {"seconds": round(took, 6)}


def rows(s, mesh, batches, room):
    measured, decode = [], [(n, 1) for n in batches]
    for int8 in (False, True):
        w = weights(s, int8)
        for way in ("loop", "unrolled", "turned")[: 3 if int8 else 2]:
            for batch, prompt in decode + [(1, room)] * (way == "loop"):
                try:
                    new = row(s, mesh, w, way, int8, batch, room, prompt)
                except jax.errors.JaxRuntimeError as error:  # no room for it
                    print(way, int8, batch, str(error)[:200], flush=True)
                else:
                    measured.append(new)
        del w
    return measured


def longest(s, mesh, batch, room):
    """Return the kernels in which one step spends most time, for three programs: name, calls, seconds."""
    kernels = {}
    for way, int8 in ("loop", False), ("unrolled", False), ("unrolled", True):
        w = weights(s, int8)
        cache = empty(s, batch, room, int8, jnp.bfloat16)
        args = jnp.ones((batch, 1), jnp.int32), jnp.int32(room - 1), w, cache
        step = program(s, mesh, "heads", int8)
        step = lowered(step, args, loop=way == "loop").compile()
        with tempfile.TemporaryDirectory() as folder:
            for i in range(4):
                if i == 2:  # two are not recorded
                    jax.profiler.start_trace(folder)
                with jax.profiler.StepTraceAnnotation("token", step_num=i):
                    _, cache = step(*args[:3], cache)
                    jax.block_until_ready(cache)
            jax.profiler.stop_trace()
            whole = profiles.read(folder).step(3)
        name = f"{way}, {'int8' if int8 else 'bf16'}"
        most = list(whole.operations().items())[:8]
        kernels[name] = [(n, times, round(t, 6)) for n, (times, t) in most]
        print(name, whole.end - whole.start, kernels[name], flush=True)
        del w, cache, args, step
    return kernels


if __name__ == "__main__":
    small = sys.argv[1:] == ["small"]
    s, batches, room = LLAMA_8B, (1, 8, 32, 64), 2048
    if small:
        s, batches, room = SMALL, (1, 8), 32
    recorded = {
        "device": jax.devices()[0].device_kind,
        "versions": {"jax": jax.__version__},
        "room": room,
        "rows": rows(s, mesh_of(1, 1), batches, room),
        "longest": longest(s, mesh_of(1, 1), 8, room),
    }
    if not small:
        save(HERE / "gpu.json", recorded)
