"""Plan programs for which others have published the time of a step; chapter 15 has both in `published.json`.

    python -m publish.recorders.published CHECKOUT TEXTS [KEY ...]

CHECKOUT is a copy of github.com/jax-ml/jax-llm-examples, whose programs are used as they are. TEXTS is a folder that
keeps the compiled programs, because compiling one takes 0.5 to 5 minutes. Without keys, all programs are planned.
"""

import dataclasses
import gzip
import importlib
import json
import subprocess
import sys
import types
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pods
from minipod.chips import chip
from minipod.hlo import text
from minipod.hlo.timeline import timeline
from minipod.pods import compiler
from minipod.pods.bounds import machine
from minipod.pods.slices import slice_of
from minipod.traffic import time_model
from publish.recorders import LESSONS, save, today

REPOSITORY = "github.com/jax-ml/jax-llm-examples"
PROMPT = 512  # not published: the longest power of two whose products at peak take less time than was measured
CYCLE = 1 / 1.5e9  # of a v5e: 1.97e14 FLOP/s of four units of 128 × 128 products (jax-ml.github.io/scaling-book/tpus)
WHOLE_CACHE = "attention without their kernel, which reads only the filled part of the cache: all of it is read"
PLAIN = "attention without their kernel: its scores go through memory"
SHIMMED = "names of Pallas that have gone since are given back: pltpu.repeat, pltpu.TPUCompilerParams"
EXPERTS = "which experts are read, their kernel decides at run time: all are counted, and none of their products"
DEVICES = "the published table does not print the mesh"
LENGTH = f"the published table does not print the length of the prompt: {PROMPT} is inferred"


class Row(NamedTuple):
    """A line of a README that prints how long a step took."""

    model: str
    mesh: tuple[int, int, int]
    batch: int
    length: int
    kind: str
    line: int


def rows() -> dict[str, Row]:
    """Return those lines of the READMEs, each with a key."""
    every = []
    for mesh, first in (((1, 8, 2), 73), ((2, 8, 1), 90)):
        cells = [(b, n) for b in (8, 16, 32) for n in (2048, 4096, 8192)] + [(64, 2048), (64, 4096), (128, 2048)]
        for line, (batch, length) in enumerate(cells, first):
            every += [Row("llama3", mesh, batch, length, k, line) for k in ("decode", "kernel", "prefill", "splash")]
    for line, batch in enumerate((1, 16, 32), 75):
        every.append(Row("llama4", (1, 4, 4), batch, 4096, "decode", line))
    cells = [(b, n) for b in (1, 8) for n in (32, 512, 4096, 8192)] + [(128, 32), (128, 512)]
    for line, (batch, length) in enumerate(cells, 74):
        every.append(Row("deepseek_r1_jax", (1, 4, 16), batch, length, "decode", line))
    return {f"{r.model}_{','.join(map(str, r.mesh))}_{r.batch}_{r.length}_{r.kind}": r for r in every}


def published(checkout, model, batch, length, kind, line):
    """Return the seconds that this line of the README gives."""
    cells = [
        c.strip().strip("*") for c in (checkout / model / "README.md").read_text().splitlines()[line - 1].split("|")
    ]
    assert [str(batch), str(length)] == [c for c in cells[2:5] if c.isdecimal()][:2], cells
    if model != "llama3":
        return 1 / float(cells[4])
    return float(cells[5]) if kind in ("prefill", "splash") else 1 / float(cells[6])


def program(checkout, model, shape, batch, length, kind):
    """Return their program and its arguments: (slice, mesh, function, arguments)."""
    sys.path.insert(0, str(checkout / model))
    sys.modules.setdefault("tqdm", types.SimpleNamespace(tqdm=lambda each, *_, **__: each))  # type: ignore[arg-type]
    vars(pltpu).setdefault("repeat", lambda x, n, axis: jnp.concatenate([x] * n, axis))
    vars(pltpu).setdefault("TPUCompilerParams", pltpu.CompilerParams)
    package = {"llama3": "llama3_jax", "llama4": "llama4_jax"}.get(model, model)
    theirs = importlib.import_module(f"{package}.model")
    on = "v5e:8x8" if model == "deepseek_r1_jax" else "v5e:4x4"
    if model == "llama3":
        laid = pods.mesh(on, a=4, b=4).devices.reshape(shape)
        mesh = Mesh(laid, ("x", "y", "z"), axis_types=(AxisType.Explicit,) * 3)
        config = importlib.import_module("llama3_jax.configs").LLAMA3_70B
        more = {"quant_layer": True, "quant_cache": True}
        more |= {"use_decode_attn_kernel": kind == "kernel", "use_prefill_attn_kernel": kind == "splash"}
    else:
        types_ = (AxisType.Explicit if model == "llama4" else AxisType.Auto,) * 3
        mesh = jax.make_mesh(shape, ("x", "y", "z"), devices=pods.devices(on), axis_types=types_)
        if model == "llama4":
            config = importlib.import_module("llama4_jax.configs").LLAMA4_SCOUT
            more = {"quant_attn": True, "quant_moe": True, "quant_mlp": True}
        else:
            config, more = theirs.Config(), {}
    config = dataclasses.replace(config, mesh=mesh, max_seq_len=length, **more)
    sized = () if model == "llama3" else (length,)
    weights = _abstract(theirs, theirs.Weights, config)
    state = _abstract(theirs, theirs.KVCache, config, batch, *sized)
    function, arguments = _function(theirs, mesh, config, kind, batch, weights, state)
    return on, mesh, function, arguments


def _abstract(theirs, kind, config, *sizes):
    made, shardings = kind.abstract(config, *sizes), kind.shardings(config, *sizes)
    put = lambda info, sharding: jax.ShapeDtypeStruct(info.shape, info.dtype, sharding=sharding)  # noqa: E731
    return jax.tree.map(put, made, shardings, is_leaf=theirs.is_param)


def _function(theirs, mesh, config, kind, batch, weights, state) -> tuple[Any, tuple[Any, ...]]:
    def tokens(count, *spec):
        return jax.ShapeDtypeStruct((batch, count), jnp.int32, sharding=NamedSharding(mesh, P(*spec)))

    if kind == "decode":
        step = jax.jit(lambda t, w, c: theirs.decode_step(t, w, c, config), donate_argnums=2)
        return step, (tokens(1, None, None), weights, state)
    if kind == "kernel":  # as their decode_step, but with the rows of tokens sharded as the kernel needs them

        def decode(t, segments, w, c):
            logits, c = theirs.forward(t, segments, w, config, c)
            return jax.sharding.reshard(jnp.argmax(logits, -1), P()), c

        return jax.jit(decode, donate_argnums=3), (tokens(1, "x", None), tokens(1, "x", None), weights, state)
    logits = NamedSharding(mesh, P(theirs.BATCH_AXIS_NAME, None, theirs.TENSOR_AXIS_NAME))
    out = logits, theirs.KVCache.shardings(config, batch)
    prefill = jax.jit(theirs.forward, donate_argnums=4, out_shardings=out)  # as their `prefill` does
    step = jax.jit(lambda t, s, w, c: prefill(t, s, w, config, c), donate_argnums=3)
    return step, (tokens(PROMPT, "x", None), tokens(PROMPT, "x", None), weights, state)


def compiled(checkout, texts, key, row):
    """Return a program's compiled text, slice and mesh, cached in `texts`. Raises RuntimeError if none."""
    kept, where = texts / f"{key}.hlo.gz", texts / f"{key}.json"
    if not kept.exists():
        on, mesh, function, arguments = program(checkout, *row[:-1])
        with jax.sharding.set_mesh(mesh):
            plan = pods.compile(function, *arguments)
        if not plan.text:
            raise RuntimeError(f"{key}: {plan.full or plan.silent}")
        numbers = [device.id for device in mesh.devices.flat]
        kept.write_bytes(gzip.compress(plan.text.encode()))
        where.write_text(json.dumps({"slice": on, "ids": numbers, "axes": dict(mesh.shape)}))
    return gzip.decompress(kept.read_bytes()).decode(), json.loads(where.read_text())


def figures(hlo, where):
    """Return the seconds of a step and of its parts, those with the compiler's cycles, and what has no figure."""
    by_number = {device.id: device for device in pods.devices(where["slice"])}
    laid = np.array([by_number[i] for i in where["ids"]], dtype=object).reshape([*where["axes"].values()])
    mesh, has = Mesh(laid, tuple(where["axes"])), chip(slice_of(where["slice"]).generation.chip)
    at_peak, without = machine(has, mesh), set()

    @cache
    def network(c):
        try:
            return at_peak.network(c)
        except ValueError:
            without.add(f"{c.op} of {c.bytes:,} bytes over {', '.join(c.axes or ())}: no box, taken for one line")
            return time_model.seconds(c, has.carrier)

    def compute(flops):
        try:
            return at_peak.compute(flops)
        except ValueError:
            without.update(f"products of {kind}: not counted" for kind in flops)
            return 0.0

    program_ = text.parse(hlo)
    for_all = dataclasses.replace(at_peak, network=network, compute=compute)
    one = timeline(program_, for_all, where["axes"])
    expected = timeline(program_, dataclasses.replace(for_all, cycle=CYCLE), where["axes"])
    seconds = {name: _short(value) for name, value in vars(one).items()}
    return {"figures": seconds, "as_compiled": _short(expected.seconds), "without_figure": sorted(without)}


def _short(seconds):
    return float(f"{seconds:.4g}")


def entry(checkout, texts, key, row):
    model, mesh, batch, length, kind, line = row
    hlo, where = compiled(checkout, texts, key, row)
    differs = [DEVICES] if model == "llama3" else []
    differs += [WHOLE_CACHE] if kind == "decode" else []
    differs += [PLAIN] if kind == "prefill" else []
    differs += [LENGTH] if kind in ("prefill", "splash") else []
    differs += [EXPERTS] if model != "llama3" else []
    differs += [SHIMMED] if kind == "kernel" or model != "llama3" else []
    measured = _short(published(checkout, model, batch, length, kind, line))
    return {
        "model": model, "slice": where["slice"], "mesh": list(mesh), "batch": batch, "length": length, "kind": kind,
        "source": f"{model}/README.md:{line}", "published": measured,
        **figures(hlo, where), "differs": differs,
    }  # fmt: skip


def main(checkout, texts, *keys):
    jax.config.update("jax_platforms", "cpu")
    compiler.LIMIT = 1800.0
    checkout, texts = Path(checkout).resolve(), Path(texts)
    known, path = rows(), LESSONS / "ch15_pods/published.json"
    kept = json.loads(path.read_text())["rows"] if path.exists() else {}
    for key in keys or known:
        kept[key] = entry(checkout, texts, key, known[key])
        print(key, kept[key]["published"], kept[key]["figures"]["seconds"], flush=True)
        commit = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
        record = {
            "repository": REPOSITORY, "commit": commit.strip(), "recorded": today(),
            "versions": compiler.versions(), "rows": {k: kept[k] for k in known if k in kept},
        }  # fmt: skip
        save(path, record)


if __name__ == "__main__":
    main(*sys.argv[1:])
