"""Which collectives have a product to hide behind: in programs compiled here, and in XLA's grammar."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from minipod.hlo.hiding import exposed
from minipod.hlo.text import parse

N = 8
AROUND = [(i, (i + 1) % N) for i in range(N)]


def compiled(part):
    mesh, specs = jax.make_mesh((N,), ("x",)), (P("x", None), P(None, "x"))
    f = jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(None, "x"))
    x, w = (
        jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))
        for shape, spec in zip([(4 * N, 256), (256, 4 * N)], specs, strict=True)
    )
    return parse(jax.jit(f).lower(x, w).compile().as_text() or "")


def in_a_loop(rows, w):
    def turn(rows, _):
        return lax.ppermute(rows, "x", AROUND), rows @ w

    rows, out = lax.scan(turn, rows, length=N - 1)
    return jnp.concatenate([out.reshape(-1, w.shape[1]), rows @ w])


def loop_that_waits(rows, w):
    def turn(rows, _):
        rows = lax.ppermute(rows, "x", AROUND)
        return rows, rows @ w

    out = lax.scan(turn, rows, length=N - 1)[1]
    return jnp.concatenate([rows @ w, out.reshape(-1, w.shape[1])])


def gathered(rows, w):
    return lax.all_gather(rows, "x", tiled=True) @ w


@pytest.mark.parametrize("part, count", [(in_a_loop, 0), (loop_that_waits, 1), (gathered, 1)])
def test_a_collective_is_exposed_where_every_product_waits_for_it(part, count):
    assert len(exposed(compiled(part))) == count


def program(*lines, more=""):
    return parse(
        f"HloModule test, num_partitions=8\n\n{more}ENTRY %main (p: f32[4,4]) -> f32[4,4] {{\n"
        "  %p = f32[4,4] parameter(0)\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
    )


START = "%s = (f32[4,4], f32[4,4]) collective-permute-start(%p), source_target_pairs={{0,1}}, channel_id=1"
DONE = "%d = f32[4,4] collective-permute-done(%s)"
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
FUSED = (
    f"%f (q: f32[4,4]) -> f32[4,4] {{\n  %q = f32[4,4] parameter(0)\n  ROOT %o = f32[4,4] dot(%q, %q), {DOT}\n}}\n\n"
)


@pytest.mark.parametrize(
    "lines, names",
    [
        ([START, f"%m = f32[4,4] dot(%p, %p), {DOT}", DONE], []),
        ([START, DONE, f"%m = f32[4,4] dot(%d, %p), {DOT}"], ["s"]),
        ([START, "%m = f32[4,4] fusion(%p), kind=kOutput, calls=%f", DONE], []),
        ([START, DONE, "%m = f32[4,4] fusion(%d), kind=kOutput, calls=%f"], ["s"]),
        ([START, '%m = f32[4,4] custom-call(%p, %p), custom_call_target="__cublas$gemm"', DONE], []),
        ([START, '%m = f32[4,4] custom-call(%p, %p), custom_call_target="Sort"', DONE], ["s"]),
        ([START, "%m = f32[4,4] add(%p, %p)", DONE], ["s"]),
    ],
)
def test_a_product_counts_in_every_spelling(lines, names):
    more = FUSED if any("%f" in line for line in lines) else ""
    assert [line.name for line in exposed(program(*lines, more=more))] == names
