"""Custom kernels: what they say that they cost, and those that say nothing."""

import pytest

from minipod.hlo import text, work

PLACE = '"custom_call_config":{"body":"TUz=","needs_layout_passes":true%s}'
# As JAX 0.10 and 0.12 hand it to the TPU's compiler, and as that prints it.
COST = (
    ',"cost_estimate":{"flops":"4320133120","transcendentals":"8388608","bytes_accessed":"%d",'
    '"remote_bytes_transferred":"%d"}'
)
SIZE = 4 * 8 * 128


def program(said: str, target: str) -> text.Program:
    call = f'custom-call(%p, %p), custom_call_target="{target}", backend_config={{{PLACE % said}}}'
    return text.parse(
        "HloModule k, is_scheduled=true\n\nENTRY %main (p: f32[8,128]) -> f32[8,128] {\n"
        "  %p = f32[8,128]{1,0} parameter(0)\n"
        f"  %flash_attention.1 = f32[8,128]{{1,0}} {call}\n"
        f"  ROOT %flash_attention.2.1 = f32[8,128]{{1,0}} {call.replace('%p, %p', '%p, %flash_attention.1')}\n}}\n"
    )


@pytest.mark.parametrize(
    ("said", "target", "expected"),
    [
        (COST % (1000, 70), "tpu_custom_call", work.Work({"kernel": 2 * 4320133120}, moved=2000, sent=140)),
        # of bytes it says nothing: its operands and results are moved
        (COST % (0, 0), "tpu_custom_call", work.Work({"kernel": 2 * 4320133120}, moved=2 * 3 * SIZE)),
        ("", "tpu_custom_call", work.Work({}, moved=2 * 3 * SIZE, unseen={"flash_attention": 2})),
        ("", "__gpu$xla.gpu.triton", work.Work({}, moved=2 * 3 * SIZE, unseen={"flash_attention": 2})),
        (COST % (1000, 70), "lapack_sgetrf", work.Work({}, moved=2 * 3 * SIZE)),  # no kernel
    ],
)
def test_a_kernel_costs_what_it_says_and_one_that_says_nothing_is_named(said, target, expected):
    assert work.work(program(said, target)) == expected


def softmax(q: int, k: int, tiling: str, place: str = "", name: str = "online-softmax") -> text.Program:
    """As libtpu 0.0.52 writes the softmax of plain attention, and the product that follows."""
    scores, values, result = f"bf16[2,4,{q},{k}]", f"bf16[2,4,{k},64]", f"bf16[2,4,{q},64]"
    call = (
        'custom-call(%s, %v), custom_call_target="tpu_custom_call", '
        f"operand_layout_constraints={{{scores}{{3,2,1,0}}, {values}{{3,2,1,0}}}}, "
        f'frontend_attributes={{tiling="{tiling}"}}, metadata={{op_name="{name}"}}, backend_config={{{PLACE % ""}}}'
    )
    layout = "{3,2,1,0:T(8,128)(2,1)S(1)}" if place else "{3,2,1,0}"
    return text.parse(
        f"HloModule k, is_scheduled=true\n\nENTRY %main (s: {scores}, v: {values}) -> {result} {{\n"
        f"  %s = {scores}{layout} parameter(0)\n  %v = {values}{{3,2,1,0}} parameter(1)\n"
        f"  ROOT %online-softmax.3 = {result}{{3,2,1,0}} {call}\n}}\n"
    )


@pytest.mark.parametrize("q, k, tiling, again", [(256, 256, "256,256", 1), (2048, 4096, "512,1024", 4)])
def test_the_compilers_own_softmax_is_one_product_and_reads_values_for_each_block_of_rows(q, k, tiling, again):
    scores, values, result = (2 * 2 * 4 * n for n in (q * k, k * 64, q * 64))
    product = 2 * 2 * 4 * q * k * 64
    assert work.work(softmax(q, k, tiling)) == work.Work({"kernel": product}, moved=scores + again * values + result)
    fast = work.work(softmax(q, k, tiling, place="fast"))  # the scores need not leave the fast memory
    assert fast == work.Work({"kernel": product}, moved=again * values + result)
    for another in softmax(q, k, tiling, name="jit(f)/online-softmax"), softmax(q, k, "all"):
        assert work.work(another).unseen == {"online-softmax": 1}  # somebody's kernel with its name


def test_products_of_two_types_are_work_of_the_wider():
    for types in "s8 bf16 bf16", "bf16 s8 bf16", "s4 s8 s8", "f8e5m2 s32 f8e5m2", "u32 u32 u32", "f32 bf16 f32":
        left, right, kind = types.split()
        found = work.work(text.parse(
            f"HloModule k, is_scheduled=true\n\nENTRY %main () -> f32[8,8] {{\n  %a = {left}[8,4]{{1,0}} parameter(0)\n"
            f"  %b = {right}[4,8]{{1,0}} parameter(1)\n"
            "  ROOT %d = f32[8,8]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
        ))  # fmt: skip
        assert found.flops == {kind: 2 * 8 * 8 * 4}
