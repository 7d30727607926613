"""Record compiled programs: python tests/data/record_programs.py KIND, in an environment that can compile for it.

  cpu-0.10, cpu-0.12   this machine's CPU, with that jax
  tpu                  jax 0.10.2 with libtpu 0.0.51: TPU slices that are not there (v5e, v6e, v4)
  tpu-products         tpu with libtpu 0.0.52, products of large matrices only
  tpu7x-0.10           jax 0.10.2 with its own libtpu 0.0.42.1: four chips of TPU7x, eight devices, and only the
  tpu7x-0.12           programs whose collectives are called asynchronously; jax 0.12.0.1 with libtpu 0.0.52
  gpu                  jax 0.12 with jax-cuda13-plugin and jax-cuda13-pjrt: eight H100 that are not there

Writes each program into KIND.hlo beside this file, without what says nothing about traffic: source positions and most
settings. expected.toml says what each must show, worked out by hand.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
KIND = sys.argv[1]
os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
os.environ |= {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import recorded_programs  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from minipod.pods.slices import GENERATIONS  # noqa: E402

RING = [(i, (i + 1) % 8) for i in range(8)]
SLICE = "tpu7x:2x2x1" if KIND.startswith("tpu7x") else "v5e:2x4"


def devices(slice_name: str = SLICE) -> list:
    if KIND.startswith("tpu"):
        return topologies.get_topology_desc(platform="tpu", topology_name=slice_name).devices
    if KIND == "gpu":
        return topologies.get_topology_desc("", "cuda", topology="1x1x8", **dict(GENERATIONS["h100"].options)).devices
    return jax.devices()


def mesh(slice_name: str = SLICE, **axes: int) -> Mesh:
    return Mesh(np.array(devices(slice_name)).reshape(tuple(axes.values())), tuple(axes))


def array(on: Mesh, shape: tuple[int, ...], *spec, dtype=jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(on, P(*spec)))


def strip(text: str) -> str:
    """Leave out file tables, metadata, and of the settings all but trip counts and what a fusion is compiled as."""
    text = re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(\d.*\n)*", "", text)
    text = re.sub(r', metadata=\{(?:[^{}"]|"(?:\\.|[^"\\])*")*\}', "", text)
    text = re.sub(r", frontend_attributes=\{[^{}]*\}", "", text)

    def kept(found: re.Match[str]) -> str:
        keep = re.findall(r'"known_trip_count":\{"n":"\d+"\}|"emitter":"\w*AllReduceScatter\w*"', found[0])
        return f", backend_config={{{','.join(keep)}}}" if keep else ""

    return re.sub(r", backend_config=\{.*\}(?=,|$)", kept, text, flags=re.MULTILINE)


def record(name: str, function, *args, out=None, settings: dict | None = None) -> None:
    options = {} if out is None else {"out_shardings": out}
    text = jax.jit(function, **options).lower(*args).compile(settings).as_text()
    recorded_programs.write(KIND, recorded_programs.of_kind(KIND) | {name: strip(text or "")})


def shard_map(on: Mesh, in_specs, out_specs):
    return lambda f: jax.shard_map(f, mesh=on, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def step(p, x, y):
    """One step of a two-layer network. The gradient with respect to x is not needed."""
    gradient = jax.grad(lambda p: jnp.mean((jax.nn.relu(x @ p["w1"]) @ p["w2"] - y).astype(jnp.float32) ** 2))(p)
    return jax.tree.map(lambda a, g: (a - 0.1 * g).astype(a.dtype), p, gradient)


def train(name: str, on: Mesh, dtype, d: int, f: int, batch: int, w1: tuple, w2: tuple) -> None:
    p = {"w1": array(on, (d, f), *w1, dtype=dtype), "w2": array(on, (f, d), *w2, dtype=dtype)}
    x = array(on, (batch, d), on.axis_names[0], dtype=dtype)
    record(name, step, p, x, x, out={k: v.sharding for k, v in p.items()})


def either(name: str, on: Mesh, x: jax.ShapeDtypeStruct) -> None:
    """A sum, or a step around the ring, or none."""

    @shard_map(on, (P(), P("x")), P("x"))
    def branches(i, x):
        return lax.switch(i[0], [lambda v: lax.psum(v, "x"), lambda v: lax.ppermute(v, "x", RING), jnp.sin], x)

    record(name, branches, array(on, (1,), dtype=jnp.int32), x)


def offloaded() -> None:
    """Collectives that are large enough for a TPU7x to give them to its sparse cores, which run beside the others."""
    line, grid, n = mesh(x=8), mesh(x=2, y=4), 4096
    rows, whole = array(line, (8 * n, n), "x"), array(line, (n, n))
    record("large-sum", shard_map(line, P("x"), P())(lambda x: lax.psum(x, "x")), rows)
    record("large-gather", shard_map(line, P("x"), P())(lambda x: lax.all_gather(x, "x", tiled=True)), rows)
    record("large-scatter", shard_map(line, P(), P("x"))(lambda x: lax.psum_scatter(x, "x", tiled=True)), whole)
    either("large-branches", line, rows)

    @shard_map(line, (P("x"), P(None, "x")), P("x"))
    def layers(x, weights):
        return lax.scan(lambda h, w: (jax.nn.relu(h @ lax.all_gather(w, "x", tiled=True)), None), x, weights)[0]

    deep = array(line, (12, n, n), None, "x", dtype=jnp.bfloat16)
    record("large-layers", layers, array(line, (8 * n, n), "x", dtype=jnp.bfloat16), deep)
    train("fsdp-tp", grid, jnp.bfloat16, 1024, 4096, 512, ("x", "y"), ("y", "x"))


def products() -> None:
    """Matrices so large that a TPU's compiler passes blocks on in a loop, from both sides, while it multiplies those
    that have come («windowed einsum»); and the same without that."""
    line, n, plain = mesh(x=8), 8192, {"xla_jf_spmd_threshold_for_windowed_einsum_mib": 10**6}
    rows, columns = (array(line, (n, n), *spec, dtype=jnp.bfloat16) for spec in (("x",), (None, "x")))
    for kind, settings in (("windowed", None), ("plain", plain)):
        record(f"{kind}-gather", jnp.matmul, rows, rows, out=rows.sharding, settings=settings)
        record(f"{kind}-scatter", jnp.matmul, columns, rows, out=rows.sharding, settings=settings)


def main() -> None:
    line, grid, cube = mesh(x=8), mesh(x=2, y=4), mesh(a=2, b=2, c=2)

    @shard_map(line, (P("x"), P("x", None), P(None)), P(None))
    def layer(x, w, b):
        return jax.nn.sigmoid(lax.psum(x @ w, "x") + b)

    record("layer", layer, array(line, (32,), "x"), array(line, (32, 4), "x"), array(line, (4,)))

    @shard_map(line, P("x"), P("x"))
    def around(x):
        def body(_, carry):
            total, y = carry
            y = lax.ppermute(y, "x", RING)
            return total + y, y

        return lax.fori_loop(0, 7, body, (x, x))[0]

    record("ring", around, array(line, (8192,), "x"))

    @shard_map(line, P("x"), P("x"))
    def nested(x):
        def inner(c, _):
            return lax.psum(c, "x") * 0.1, None

        return lax.scan(lambda c, _: (lax.scan(inner, c, None, length=3)[0], None), x, None, length=5)[0]

    record("nested", nested, array(line, (8192,), "x"))
    either("branches", line, array(line, (8192,), "x"))
    record("axes-a-c", shard_map(cube, P("a", "b", "c"), P(None, "b"))(lambda x: lax.psum(x, ("a", "c"))),
           array(cube, (16, 16, 16), "a", "b", "c"))  # fmt: skip
    record("all-to-all", shard_map(line, P("x"), P(None, "x"))(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True)),
           array(line, (64, 128), "x"))  # fmt: skip
    record("transpose-spec", lambda v: v * 1.0, array(grid, (64, 64), "x", "y"), out=NamedSharding(grid, P("y", "x")))
    record("gather-bool", shard_map(line, P("x"), P())(lambda v: lax.all_gather(v, "x", tiled=True)),
           array(line, (8192,), "x", dtype=bool))  # fmt: skip
    train("fsdp-tp", grid, jnp.bfloat16, 1024, 4096, 512, ("x", "y"), ("y", "x"))

    if KIND in ("tpu", "gpu"):
        rows, counts = array(line, (512, 128), "x"), array(line, (64,), "x", dtype=jnp.int32)
        ragged = shard_map(line, (P("x"),) * 6, P("x"))(lambda *a: lax.ragged_all_to_all(*a, axis_name="x"))
        record("ragged", ragged, rows, rows, counts, counts, counts, counts)
        scatter = shard_map(line, P(), P("x"))(lambda x: lax.psum_scatter(x, "x", tiled=True))
        record("psum-scatter", scatter, array(line, (8192,)))
    if KIND == "gpu":
        record("broadcast", shard_map(line, P("x"), P("x"))(lambda x: lax.pbroadcast(x, "x", 2)),
               array(line, (8192,), "x"))  # fmt: skip
        train("fsdp", line, jnp.float32, 1024, 4096, 512, ("x",), ("x",))
    if KIND == "tpu":
        train("data-256", mesh("v5e:16x16", x=256), jnp.float32, 512, 1024, 1024, (), ())
        train("v6e-fsdp-tp", mesh("v6e:4x4", x=4, y=4), jnp.bfloat16, 1024, 4096, 512, ("x", "y"), ("y", "x"))


if KIND == "tpu-products":
    KIND = "tpu"
    products()
else:
    offloaded() if KIND.startswith("tpu7x") else main()
