"""Programs of Part III in sizes that their pages do not have, against one device. JAX refuses what does not divide."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P
from jax.sharding import AxisType
from small_meshes import SOON, mesh_of

from lessons.ch09_training import model


def sizes(names: str, first: tuple, *others: tuple):
    """Ten sizes for a test: the first in every `make test`, the others in `make test-long`."""
    return pytest.mark.parametrize(names, [first, *(pytest.param(*size, marks=pytest.mark.long) for size in others)])


def run(f, *args):
    return jax.device_get(jax.jit(f).lower(*args).compile(SOON)(*args))


def assert_near(found, expected, atol: float) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=0, atol=atol)


def attended(q, k, v):
    """Causal attention in float64 by NumPy. q: [b, t, h, d]; k, v: [b, t, g, d]."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    weights = np.exp(np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf))
    return np.einsum("bhij,bjhd->bihd", weights / weights.sum(-1, keepdims=True), v)


@sizes(
    "n, batch, heads, groups, length, dtype",
    (3, 2, 6, 3, 18, "float32"),
    (1, 2, 2, 1, 6, "float32"),
    (1, 1, 3, 3, 5, "float32"),
    (2, 1, 2, 2, 2, "float32"),
    (2, 3, 6, 2, 18, "bfloat16"),
    (3, 1, 3, 3, 33, "float32"),
    (4, 1, 8, 2, 40, "float32"),
    (5, 1, 5, 5, 20, "bfloat16"),
    (8, 1, 8, 8, 16, "float32"),
    (4, 1, 4, 4, 42, "float32"),
    (4, 1, 4, 4, 8, "float64"),
)
def test_attention_of_a_cut_sequence(lesson, n, batch, heads, groups, length, dtype):
    """Chapter 19's five ways. All of them add up in float32, whatever comes."""
    bill, ways, ring, ring_vjp, zigzag = lesson("ch19_sequences", "bill", "ways", "ring", "ring_vjp", "zigzag")
    with jax.enable_x64(dtype == "float64"):
        rng = np.random.default_rng(0)
        arrays = [jnp.asarray(rng.normal(size=(batch, length, h, 4)), dtype) for h in (heads, groups, groups)]
        for way in (ways.gathered, ways.ulysses, ring.ring, ring_vjp.ring_vjp, zigzag.zigzag):
            attend = partial(run, bill.cut(way, mesh_of(s=n)))
            if length % n or (way is ways.ulysses and groups % n):
                with pytest.raises(ValueError, match=r"evenly divisible|has to be divisible"):
                    attend(*arrays)
            elif way is zigzag.zigzag and length % (2 * n):
                for refused in (lambda: attend(*arrays), lambda: zigzag.order(n, length)):  # noqa: B023
                    with pytest.raises(ValueError, match=f"{n} devices need a multiple of {2 * n} positions"):
                        refused()
            else:
                order = zigzag.order(n, length) if way is zigzag.zigzag else np.arange(length)
                found = attend(*(x[:, order] for x in arrays))
                assert found.dtype == dtype
                assert_near(found[:, np.argsort(order)], attended(*arrays), 0.03 if dtype == "bfloat16" else 2e-6)


@sizes(
    "h, r, cut, batch, prompt, time, room, heads, kv, int8, x64",
    (1, 2, "sequence", 3, 3, 5, 6, 4, 1, False, False),
    (1, 1, "heads", 1, 1, 3, 3, 2, 1, False, False),
    (2, 2, "heads", 2, 3, 5, 6, 4, 2, False, False),
    (2, 2, "batch", 2, 3, 5, 6, 4, 2, False, True),
    (3, 1, "heads", 1, 2, 4, 5, 3, 3, False, False),
    (1, 3, "sequence", 1, 5, 7, 9, 3, 1, False, True),
    (2, 2, "sequence", 1, 5, 6, 8, 4, 2, True, False),
    (2, 1, "heads", 2, 4, 8, 8, 6, 2, False, False),
    (1, 2, "batch", 3, 2, 4, 6, 2, 1, False, False),
    (1, 2, "sequence", 1, 5, 7, 7, 2, 1, False, False),
    (4, 1, "heads", 2, 1, 3, 4, 4, 2, False, False),
)
def test_a_served_decoder(lesson, h, r, cut, batch, prompt, time, room, heads, kv, int8, x64):
    """Chapter 20: a prompt and a token at a time, with a cache in three layouts, against a pass without one."""
    arrays, plain, served = lesson("ch20_serving", "arrays", "plain", "run")
    with jax.enable_x64(x64):
        s = arrays.Sizes(2, 12, heads, kv, 4, 24, 24)
        weights = arrays.drawn(s, jax.random.key(0))
        tokens = np.random.default_rng(0).integers(0, s.words, (batch, time)).astype(np.int32)
        given = served.mesh_of(h, r), cut, weights, tokens, prompt, room, int8
        if kv % h or (cut == "batch" and batch % r) or (cut == "sequence" and room % r):
            with pytest.raises(ValueError, match="is partitioned"):
                served.serve(s, *given)
            return
        found, _, _ = served.serve(s, *given)
        weights = arrays.float_of(arrays.int8_of(weights, s), s) if int8 else weights
        assert_near(found, plain.plain(weights, tokens)[:, prompt - 1 :], 0.05 if int8 else 1e-5)


@sizes(
    "n, tokens, width, hidden, experts, dtype",
    (3, 5, 4, 6, 6, "float32"),
    (1, 1, 4, 4, 2, "float32"),
    (2, 3, 8, 4, 4, "float32"),
    (4, 2, 4, 4, 4, "bfloat16"),
    (8, 3, 4, 4, 16, "float32"),
    (2, 7, 5, 3, 2, "float32"),
    (1, 9, 4, 4, 3, "bfloat16"),
    (5, 1, 4, 4, 5, "float32"),
    (3, 4, 4, 4, 4, "float32"),
    (2, 4, 4, 4, 8, "float64"),
)
def test_experts_on_several_devices(lesson, n, tokens, width, hidden, experts, dtype):
    """Chapter 21, with room for all that may come, with and without a capacity."""
    chosen, packed, dropless = lesson("ch21_experts", "chosen", "packed", "dropless")
    with jax.enable_x64(dtype == "float64"):
        w = jax.tree.map(lambda a: a.astype(dtype), chosen.drawn(jax.random.key(0), width, hidden, experts))
        x = jax.random.normal(jax.random.key(1), (n * tokens, width)).astype(dtype)
        for way in (
            lambda w, x: packed.experts(w, x, 2 * tokens, "expert")[0],
            lambda w, x: dropless.dropless(w, x, 2 * n * tokens, dropless.by_hand),
        ):
            specs = {"in_specs": (dropless.SPECS, P("expert")), "out_specs": P("expert")}
            f = jax.shard_map(way, mesh=mesh_of(expert=n), **specs)
            if experts % n:
                with pytest.raises(ValueError, match="evenly divisible"):
                    run(f, w, x)
            else:
                found = run(f, w, x)
                assert found.dtype == dtype
                within = {"bfloat16": 0.02, "float32": 1e-6, "float64": 1e-12}[dtype]
                assert_near(found, run(chosen.alone, w, x), within)


@sizes(
    "stages, chunks, microbatches, rows, way, x64",
    (3, 1, 5, 2, "one_f_one_b", True),
    (3, 1, 2, 1, "by_grad", False),
    (1, 1, 2, 1, "by_grad", False),
    (2, 1, 1, 3, "by_grad", True),
    (8, 1, 3, 1, "by_grad", False),
    (2, 1, 1, 1, "gpipe", False),
    (8, 1, 3, 1, "gpipe", False),
    (1, 2, 3, 1, "interleaved", False),
    (2, 4, 4, 1, "interleaved", False),
    (4, 2, 4, 1, "interleaved", False),
)
def test_a_pipeline(lesson, stages, chunks, microbatches, rows, way, x64):
    """Chapter 22: loss and gradients of a pipeline, by `jax.grad` or from a table, are those of the whole model."""
    parts, by_grad, executor, schedule = lesson("ch22_stages", "parts", "by_grad", "executor", "schedule")
    with jax.enable_x64(x64):
        w = parts.drawn(jax.random.key(0), stages, chunks)
        tokens = parts.batch(np.arange(4096) % 256, 0, microbatches, rows)
        if way == "by_grad":
            both = jax.value_and_grad(by_grad.loss)
        else:
            more = (chunks,) if way == "interleaved" else ()
            both = executor.executor(schedule.table(getattr(schedule, way)(stages, microbatches, *more)))
        specs = {"in_specs": (parts.SPECS, P()), "out_specs": (P(), parts.SPECS)}
        found = run(jax.shard_map(both, mesh=mesh_of(stage=stages), **specs), w, tokens)
        assert_near(found, run(jax.value_and_grad(parts.alone), w, tokens), 1e-12 if x64 else 1e-6)


@sizes(
    "data, tensor, microbatches, rows, stage, dtype, x64",
    (2, 2, 2, 2, "ZeRO-3", "float32", False),
    (1, 1, 1, 2, "DP", "float32", False),
    (1, 4, 3, 2, "ZeRO-2", "bfloat16", False),
    (2, 1, 2, 2, "DP", "float32", True),
    (2, 4, 3, 2, "ZeRO-1", "float32", False),
    (2, 1, 1, 6, "DP", "bfloat16", False),
    (4, 2, 1, 4, "ZeRO-2", "float32", False),
    (8, 1, 2, 8, "ZeRO-3", "float32", False),
    (2, 2, 3, 2, "ZeRO-3", "float32", True),
    (2, 1, 1, 3, "DP", "float32", False),
)
def test_gradients_of_a_step(lesson, data, tensor, microbatches, rows, stage, dtype, x64):
    """Chapter 17: loss and gradients of microbatches, parameters and gradients in four layouts."""
    zero = lesson("ch17_step", "zero")
    specs, g_specs, _ = zero.STAGES[stage]
    with jax.enable_x64(x64), jax.set_mesh(mesh_of(AxisType.Explicit, data=data, model=tensor)):
        p = jax.device_get(jax.jit(model.init)(jax.random.key(0)))
        tokens = np.random.default_rng(0).integers(0, 256, (microbatches, rows, model.LENGTH + 1)).astype(np.int32)
        if rows % data:
            with pytest.raises(ValueError, match="does not evenly divide"):
                jax.device_put(tokens, P(None, "data"))
            return
        given = jax.device_put(p, specs), jax.device_put(tokens, P(None, "data"))
        found = run(lambda p, x: zero.gradients(p, x, specs, g_specs, dtype=jnp.dtype(dtype)), *given)
    with jax.enable_x64(x64):
        whole = jax.value_and_grad(lambda p, x: model.loss(p, x.reshape(-1, model.LENGTH + 1)))
        assert_near(found, run(whole, p, tokens), 0.01 if dtype == "bfloat16" else 2e-6)
