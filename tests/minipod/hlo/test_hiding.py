"""Which collectives have a matrix product to hide behind, in every form in which XLA writes a product."""

import pytest

from minipod.hlo.hiding import exposed
from minipod.hlo.text import parse


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
        ([START, '%m = f32[4,4] custom-call(%p, %p), custom_call_target="__cublas$gemm"', DONE], []),
        ([START, "%m = f32[4,4] add(%p, %p)", DONE], ["s"]),
    ],
)
def test_a_product_counts_in_every_spelling(lines, names):
    more = FUSED if any("%f" in line for line in lines) else ""
    assert [line.name for line in exposed(program(*lines, more=more))] == names
