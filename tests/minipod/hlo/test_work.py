"""FLOPs, bytes and what overlaps, read from a program's text, against what the program must do."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from minipod.hlo import overlap, text, work


def of(function, *shapes, dtype=jnp.float32):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    compiled = jax.jit(function).lower(*arguments).compile()
    return work.work(text.parse(compiled.as_text())), compiled


def total(found):
    return sum(found.flops.values())


@pytest.mark.parametrize(
    "equation, left, right, flops",
    [
        ("bij,bjk->bik", (4, 64, 128), (4, 128, 32), 2 * 4 * 64 * 128 * 32),
        ("bqhd,bkhd->bhqk", (2, 64, 4, 16), (2, 64, 4, 16), 2 * 2 * 4 * 64 * 64 * 16),
    ],
)
def test_a_product_costs_two_operations_for_each_pair(equation, left, right, flops):
    found, _ = of(lambda a, b: jnp.einsum(equation, a, b), left, right)
    assert total(found) == flops


def test_the_body_of_a_loop_counts_as_often_as_it_runs():
    """XLA's own analysis counts it once."""

    def stack(x, w):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0]

    found, compiled = of(stack, (32, 256), (24, 256, 256))
    assert total(found) == 24 * 2 * 32 * 256 * 256
    assert compiled.cost_analysis()["flops"] < 2 * total(found) / 24
    assert found.moved >= 24 * 4 * 256 * 256  # every layer's weights are read once


def test_of_branches_one_counts_in_each_turn_of_a_loop_around_it():
    def either(i, x):
        small, large = lambda x: jnp.tanh(x @ x), lambda x: jnp.tanh(x @ (x @ (x @ x)))
        return lax.fori_loop(0, 5, lambda _, x: lax.switch(i, [small, large, small], x), x)

    arguments = jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((64, 64), jnp.float32)
    found = work.work(text.parse(jax.jit(either).lower(*arguments).compile().as_text()))
    assert total(found) == 5 * 3 * 2 * 64**3


def test_a_convolution_costs_what_xla_says():
    def convolve(x, k):
        return lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    found, compiled = of(convolve, (2, 32, 32, 8), (3, 3, 8, 16))
    assert total(found) == pytest.approx(compiled.cost_analysis()["flops"], rel=0.02)


SCHEDULED = """HloModule scheduled, is_scheduled=true, replica_count=4

%batched (a: bf16[8,128,64], b: bf16[8,32,64]) -> bf16[8,128,32] {
  %a = bf16[8,128,64]{2,1,0} parameter(0)
  %b = bf16[8,32,64]{2,1,0} parameter(1)
  ROOT %c = bf16[8,128,32]{2,1,0} convolution(%a, %b), window={size=8 stride=7 lhs_dilate=8}, dim_labels=0bf_0oi->0bf
}

ENTRY %main (p: bf16[64,128], q: bf16[128,256], x: bf16[8,128,64], y: bf16[8,32,64]) -> bf16[64,256] {
  %p = bf16[64,128]{1,0} parameter(0)
  %q = bf16[128,256]{1,0:S(1)} parameter(1)
  %x = bf16[8,128,64]{2,1,0} parameter(2)
  %y = bf16[8,32,64]{2,1,0} parameter(3)
  %start = (bf16[64,128], bf16[256,128]) all-gather-start(%p), replica_groups={{0,1,2,3}}, dimensions={0}
  %product = bf16[64,256]{1,0} dot(%p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %fused = bf16[8,128,32]{2,1,0} fusion(%x, %y), kind=kOutput, calls=%batched
  %done = bf16[256,128]{1,0} all-gather-done(%start)
  %alone = (bf16[64,128], bf16[64,128]) collective-permute-start(%p), source_target_pairs={{0,1},{1,0}}
  %there = bf16[64,128]{1,0} collective-permute-done(%alone)
  ROOT %after = bf16[64,256]{1,0} dot(%there, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
PLAIN, BATCHED = 2 * 64 * 128 * 256, 2 * 8 * 128 * 64 * 32


def test_a_batch_that_a_tpu_writes_as_a_window_with_holes_counts_once_each():
    found = work.work(text.parse(SCHEDULED))
    assert found.flops == {"bf16": 2 * PLAIN + BATCHED}


def test_what_stands_between_a_start_and_its_done_overlaps():
    first, second = overlap.overlaps(text.parse(SCHEDULED))
    assert (first.op, first.products, first.flops) == ("all-gather", 2, PLAIN + BATCHED)
    assert (second.op, second.products) == ("collective-permute", 0)


def test_of_branches_between_a_start_and_its_done_the_costliest_overlaps():
    dot = "dot({0}, %k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    branches = "".join(
        f"%{name} (x: bf16[64,64]) -> bf16[64,64] {{\n  %k = bf16[64,64]{{1,0}} parameter(0)\n{lines}\n}}\n\n"
        for name, lines in {
            "one": f"  ROOT %a = bf16[64,64]{{1,0}} {dot.format('%k')}",
            "two": f"  %a = bf16[64,64]{{1,0}} {dot.format('%k')}\n  ROOT %b = bf16[64,64]{{1,0}} {dot.format('%a')}",
        }.items()
    )
    line = "%w = bf16[64,64]{1,0} conditional(%i, %v, %v), branch_computations={%one, %two}\n  %done ="
    whole = SCHEDULED.replace("%done =", line, 1).replace("ENTRY", branches + "ENTRY")
    first, _ = overlap.overlaps(text.parse(whole))
    assert (first.products, first.flops) == (3, PLAIN + BATCHED + 2 * 2 * 64**3)


def test_what_is_called_from_many_places_is_read_once():
    """Each of 60 computations calls the one before it twice: 2⁶⁰ calls."""
    more = "%f0 (q: bf16[8]) -> bf16[8] {\n  ROOT %q = bf16[8]{0} parameter(0)\n}\n\n"
    for i in range(1, 60):
        calls = "".join(f"  %{n} = bf16[8]{{0}} call(%q), to_apply=%f{i - 1}\n" for n in "bc")
        more += f"%f{i} (q: bf16[8]) -> bf16[8] {{\n  %q = bf16[8]{{0}} parameter(0)\n{calls}}}\n\n"
    whole = SCHEDULED.replace("%done =", "%v = bf16[8]{0} call(%w), to_apply=%f59\n  %done =", 1)
    whole = whole.replace("%start =", "%w = bf16[8]{0} parameter(4)\n  %start =", 1).replace("ENTRY", more + "ENTRY")
    many, plain = text.parse(whole), text.parse(SCHEDULED)
    assert work.work(many).flops == work.work(plain).flops
    assert overlap.overlaps(many) == overlap.overlaps(plain)


def test_what_stays_in_fast_memory_and_collectives_that_are_under_way_are_counted_once():
    found = work.work(text.parse(SCHEDULED))
    p, out, x, y, c = (2 * n for n in (64 * 128, 64 * 256, 8 * 128 * 64, 8 * 32 * 64, 8 * 128 * 32))
    gathered, sent = 4 * p + p, 2 * p  # written and read by the two collectives
    assert found.moved == (p + out) + (x + y + c) + (p + out) + gathered + sent


def test_an_asynchronous_fusion_counts_once():
    """As the CUDA plug-in of JAX 0.12 writes it: its start is of the shape (operands, result, …)."""
    whole = SCHEDULED.replace(
        "%fused = bf16[8,128,32]{2,1,0} fusion(%x, %y), kind=kOutput, calls=%batched",
        "%begun = ((bf16[8,128,64], bf16[8,32,64]), bf16[8,128,32], u32[]) fusion-start(%x, %y), calls=%batched\n"
        "  %fused = bf16[8,128,32]{2,1,0} fusion-done(%begun)",
    )
    assert "fusion-start" in whole
    assert work.work(text.parse(whole)) == work.work(text.parse(SCHEDULED))


def test_float32_for_which_more_was_asked_is_counted_apart():
    asked = SCHEDULED.replace("bf16[64,128]", "f32[64,128]").replace(
        "rhs_contracting_dims={0}\n  %fused", "rhs_contracting_dims={0}, operand_precision={highest,highest}\n  %fused"
    )
    assert work.work(text.parse(asked)).flops == {"f32×6": PLAIN, "f32": PLAIN, "bf16": BATCHED}
