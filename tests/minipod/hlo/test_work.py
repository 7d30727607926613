"""FLOPs, bytes and what overlaps, read from a program's text, against what the program must do."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from minipod.hlo import overlap, text, work
from minipod.hlo.hiding import exposed


def of(function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    compiled = jax.jit(function).lower(*arguments).compile()
    return work.work(text.parse(compiled.as_text())), compiled.cost_analysis()["flops"]


def total(found):
    return sum(found.flops.values())


def test_products_convolutions_loops_and_the_larger_branch_count():
    """Of a loop XLA's own analysis counts the body once."""
    found, _ = of(lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), (2, 64, 4, 16), (2, 64, 4, 16))
    assert total(found) == 2 * 2 * 4 * 64 * 64 * 16

    def convolve(x, k):
        return lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    found, by_xla = of(convolve, (2, 32, 32, 8), (3, 3, 8, 16))
    assert total(found) == pytest.approx(by_xla, rel=0.02)
    found, by_xla = of(lambda x, w: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0], (32, 256), (24, 256, 256))
    assert total(found) == 24 * 2 * 32 * 256 * 256 and by_xla < 2 * total(found) / 24
    assert found.moved >= 24 * 4 * 256 * 256  # every layer's weights are read once

    def either(i, x):
        small, large = lambda x: jnp.tanh(x @ x), lambda x: jnp.tanh(x @ (x @ (x @ x)))
        return lax.fori_loop(0, 5, lambda _, x: lax.switch(i.astype(int), [small, large, small], x), x)

    assert total(of(either, (), (64, 64))[0]) == 5 * 3 * 2 * 64**3


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


def test_a_batch_that_a_tpu_writes_as_a_window_with_holes_counts_once_each_and_what_is_under_way_overlaps():
    program = text.parse(SCHEDULED)
    found, (first, second) = work.work(program), overlap.overlaps(program)
    assert found.flops == {"bf16": 2 * PLAIN + BATCHED}
    p, out, x, y, c = (2 * n for n in (64 * 128, 64 * 256, 8 * 128 * 64, 8 * 32 * 64, 8 * 128 * 32))
    gathered, sent = 4 * p + p, 2 * p  # written and read by the two collectives; %q stays in fast memory
    assert found.moved == (p + out) + (x + y + c) + (p + out) + gathered + sent
    assert (first.op, first.products, first.flops) == ("all-gather", 2, PLAIN + BATCHED)
    assert (second.op, second.products) == ("collective-permute", 0)
    # an asynchronous fusion, whose start the CUDA plug-in of JAX 0.12 writes with the shape (operands, result, …)
    asynchronous = SCHEDULED.replace(
        "%fused = bf16[8,128,32]{2,1,0} fusion(%x, %y), kind=kOutput, calls=%batched",
        "%begun = ((bf16[8,128,64], bf16[8,32,64]), bf16[8,128,32], u32[]) fusion-start(%x, %y), calls=%batched\n"
        "  %fused = bf16[8,128,32]{2,1,0} fusion-done(%begun)",
    )
    assert "fusion-start" in asynchronous and work.work(text.parse(asynchronous)) == found


def test_a_product_to_hide_behind_counts_in_every_spelling_unless_it_waits_for_the_collective():
    """%after waits for %alone, and nothing else does."""
    dot = "dot(%p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    sums = SCHEDULED.replace(dot, "add(%p, %p)\n")
    neither = sums.replace("fusion(%x, %y), kind=kOutput, calls=%batched", "add(%x, %x)")
    assert [line.name for line in exposed(text.parse(neither))] == ["alone"]
    for product in dot, 'custom-call(%p), custom_call_target="__cublas$gemm"\n':
        assert exposed(text.parse(neither.replace("add(%p, %p)\n", product))) == []
    assert exposed(text.parse(sums)) == []  # the fusion


def test_of_branches_between_a_start_and_its_done_the_costliest_overlaps():
    def branch(name, count):
        dot = "bf16[64,64]{1,0} dot(%k, %k), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        lines = "".join(f"  %d{i} = {dot}\n" for i in range(count))
        return f"%{name} (k: bf16[64,64]) -> bf16[64,64] {{\n  %k = bf16[64,64]{{1,0}} parameter(0)\n{lines}}}\n\n"

    line = "%w = bf16[64,64]{1,0} conditional(%i, %v, %v), branch_computations={%one, %two}\n  %done ="
    whole = SCHEDULED.replace("%done =", line, 1).replace("ENTRY", branch("one", 1) + branch("two", 2) + "ENTRY")
    first, _ = overlap.overlaps(text.parse(whole))
    assert (first.products, first.flops) == (3, PLAIN + BATCHED + 2 * 2 * 64**3)


def test_float32_for_which_more_was_asked_is_counted_apart():
    asked = SCHEDULED.replace("bf16[64,128]", "f32[64,128]").replace(
        "rhs_contracting_dims={0}\n  %fused", "rhs_contracting_dims={0}, operand_precision={highest,highest}\n  %fused"
    )
    assert work.work(text.parse(asked)).flops == {"f32×6": PLAIN, "f32": PLAIN, "bf16": BATCHED}
