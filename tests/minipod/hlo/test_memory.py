"""Bytes that instructions move, against arithmetic by hand."""

import pytest

from minipod.hlo import text, work

ROW = 2 * 512  # bytes of a row of bf16[…, 512]


def moved(entry: str, more: str = "") -> int:
    program = f"HloModule m, is_scheduled=true, replica_count=4\n\n{more}\nENTRY %main () -> bf16[8] {{\n{entry}\n}}\n"
    return work.work(text.parse(program)).moved


TABLE = "  %t = bf16[4096,512]{1,0} parameter(0)\n  %i = s32[8,1]{1,0} parameter(1)\n"
TAKE = "gather(%t, %i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,512}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # ((operand), result, …): the slice is read, and written unless that lies in fast memory
        ("((bf16[4096,512]{1,0}), bf16[16,512]{1,0:S(1)}, s32[]) slice-start(%t), slice={[0:16]}", 16 * ROW),
        ("((bf16[4096,512]{1,0}), bf16[16,512]{1,0}, s32[]) slice-start(%t), slice={[0:16]}", 32 * ROW),
        # (target, source, …)
        ("(bf16[4096,512]{1,0:S(1)}, bf16[4096,512]{1,0}, u32[]) copy-start(%t)", 4096 * ROW),
        ("(bf16[4096,512]{1,0}, bf16[4096,512]{1,0}, u32[]) copy-start(%t)", 2 * 4096 * ROW),
        (f"bf16[8,512]{{1,0}} {TAKE}", 16 * ROW + 8 * 4),
        ("bf16[4096,512]{1,0:S(1)} copy(%t)", 4096 * ROW),
        ('bf16[4096,512]{1,0} custom-call(), custom_call_target="AllocateBuffer"', 0),
    ],
)
def test_an_instruction_moves_what_it_reads_and_writes(line, expected):
    assert moved(f"{TABLE}  ROOT %x = {line}") == expected
    if " copy-start(" in line:  # its done moves nothing more
        done = "\n  ROOT %y = bf16[4096,512]{1,0} copy-done(%x)"
        assert moved(f"{TABLE}  %x = {line}{done}") == expected


def fused(lines: str, call: str, more: str = "") -> int:
    return moved(f"{TABLE}  ROOT %x = {call}, kind=kLoop, calls=%f", f"{more}\n%f () -> bf16[] {{\n{lines}\n}}\n")


PARAMETERS = "  %a = bf16[4096,512]{1,0} parameter(0)\n  %b = s32[8,1]{1,0} parameter(1)\n"


def test_a_gather_in_a_fusion_reads_the_rows_that_it_takes():
    take = TAKE.replace("%t, %i", "%c, %b")
    lines = f"{PARAMETERS}  %c = f32[4096,512]{{1,0}} convert(%a)\n  %g = f32[8,512]{{1,0}} {take}\n"
    lines += "  ROOT %r = f32[8,512]{1,0} negate(%g)"
    assert fused(lines, "f32[8,512]{1,0} fusion(%t, %i)") == 8 * ROW + 8 * 4 + 8 * 2 * ROW


def test_a_slice_in_a_fusion_in_a_fusion_is_all_that_is_read():
    """As a TPU's compiler takes a layer's weights: the inner copy stays where its operand is."""
    copied = "%d () -> bf16[] {\n  %p = bf16[4096,512]{1,0} parameter(0)\n  ROOT %q = bf16[4096,512]{1,0} copy(%p)\n}\n"
    sliced = (
        "%e () -> bf16[] {\n  %p = bf16[4096,512]{1,0} parameter(0)\n  %j = s32[]{:S(6)} parameter(1)\n"
        "  %o = bf16[4096,512]{1,0} fusion(%p), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=%d\n"
        "  %s = bf16[64,512]{1,0} dynamic-slice(%o, %j, %j), dynamic_slice_sizes={64,512}\n"
        "  ROOT %q = bf16[64,512]{1,0} bitcast(%s)\n}\n"
    )
    lines = PARAMETERS + "  %j = s32[] constant(3)\n"
    lines += "  %y = bf16[64,512]{1,0} fusion(%a, %j), kind=kLoop, calls=%e\n  ROOT %r = bf16[64,512]{1,0} negate(%y)"
    call = "bf16[64,512]{1,0:S(1)} fusion(%t, %i)"
    assert fused(lines, call, copied + sliced) == 64 * ROW
    all_of_it = lines.replace("  ROOT", "  %z = bf16[4096,512]{1,0} negate(%a)\n  ROOT")
    assert fused(all_of_it, call, copied + sliced) == 4096 * ROW


UPDATE = "  %a = bf16[4096,512]{1,0} parameter(0)\n  %u = bf16[8,512]{1,0} parameter(1)\n  %j = s32[] constant(3)\n"
IN_PLACE = "%w = bf16[4096,512]{1,0} dynamic-update-slice(%a, %u, %j, %j)"
SCATTER = "%w = bf16[4096,512]{1,0} scatter(%a, %k, %u), update_window_dims={1}, to_apply=%add"
ADD = "%add () -> bf16[] {\n  %p = bf16[] parameter(0)\n  %q = bf16[] parameter(1)\n  ROOT %r = bf16[] add(%p, %q)\n}\n"
REPLACE = ADD.replace("ROOT %r = bf16[] add(%p, %q)", "").replace("  %q =", "  ROOT %q =")
INDICES = "  %k = s32[8,1]{1,0} constant({...})\n"


def updated(lines: str, more: str = "", result: str = "bf16[4096,512]{1,0}") -> int:
    called = f"%f () -> bf16[] {{\n{UPDATE}{lines}\n}}\n"
    entry = "  %t = bf16[4096,512]{1,0} parameter(0)\n  %u = bf16[8,512]{1,0} parameter(1)\n"
    return moved(f"{entry}  ROOT %x = {result} fusion(%t, %u), kind=kLoop, calls=%f", more + called)


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (f"  ROOT {IN_PLACE}", 16),  # the update is read and written
        (f"  {IN_PLACE}\n  ROOT %v = bf16[4096,512]{{1,0}} bitcast(%w)", 16),
        (f"{INDICES}  ROOT {SCATTER}", 24),  # and what was there is read, to be added to
        # what is updated is not what was given
        (f"  %z = bf16[4096,512]{{1,0}} negate(%a)\n  ROOT {IN_PLACE.replace('%a', '%z')}", 4096 + 8 + 4096),
        # after the update all of it is used
        (f"  {IN_PLACE}\n  ROOT %v = bf16[4096,512]{{1,0}} negate(%w)", 4096 + 8 + 4096),
    ],
)
def test_an_update_in_a_fusion_touches_what_it_updates(lines, rows):
    assert updated(lines, ADD) == rows * ROW


def test_updates_one_after_the_other_outside_a_fusion_and_in_a_fusion_in_a_fusion_are_in_place_too():
    assert updated(f"{INDICES}  ROOT {SCATTER}", REPLACE) == 16 * ROW  # overwrites: what was there is not read
    steps = [f"  %w{i + 1} = bf16[4096,512]{{1,0}} dynamic-update-slice(%w{i}, %u, %j, %j)" for i in range(400)]
    steps[0], steps[-1] = steps[0].replace("%w0", "%a"), steps[-1].replace("  %w400", "  ROOT %w400")
    assert updated("\n".join(steps)) == (8 + 400 * 8) * ROW
    assert moved(f"{UPDATE}{INDICES}  ROOT {IN_PLACE}") == 16 * ROW
    assert moved(f"{UPDATE}{INDICES}  ROOT {SCATTER}", ADD) == 24 * ROW + 8 * 4
    inner = f"%g () -> bf16[] {{\n{UPDATE}  ROOT {IN_PLACE}\n}}\n"
    call = "bf16[4096,512]{1,0} fusion(%a, %u), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=%g"
    assert updated(f"  ROOT %v = {call}", inner) == 16 * ROW
    sliced = f"  %v = {call}\n  ROOT %s = bf16[64,512]{{1,0}} slice(%v), slice={{[0:64]}}"
    assert updated(sliced, inner, "bf16[64,512]{1,0}") == (64 + 8 + 64) * ROW


@pytest.mark.parametrize(
    ("given", "made", "rows"), [("", "", 8 + 32), (":S(1)", "", 32), ("", ":S(1)", 8), (":S(1)", ":S(1)", 0)]
)
def test_collectives_between_arrays_in_fast_memory_move_nothing_in_the_large_one(given, made, rows):
    """The result of one in a fusion lies where that of the fusion does."""
    line = "all-gather(%p), replica_groups={{0,1,2,3}}, dimensions={0}"
    entry = f"  %p = bf16[8,512]{{1,0{given}}} parameter(0)\n  ROOT %g = bf16[32,512]{{1,0{made}}}"
    assert moved(f"{entry} {line}") == rows * ROW
    inside = (
        f"%f () -> bf16[] {{\n  %p = bf16[8,512]{{1,0{given}}} parameter(0)\n  %g = bf16[32,512]{{1,0}} {line}\n"
        f'  ROOT %r = bf16[32,512]{{1,0{made}}} custom-call(%g), custom_call_target="Keep"\n}}\n'
    )
    assert moved(f"{entry} fusion(%p), kind=kCustom, calls=%f", inside) == rows * ROW


HOST = "  %h = f32[4,2048,512]{2,1,0:S(5)} parameter(2)\n  %u = f32[1,2048,512]{2,1,0} parameter(3)\n"
LAYER = 2048 * 512 * 4
EXECUTE = 'async_execution_thread="host", custom_call_target="HostExecute"'


@pytest.mark.parametrize(
    ("line", "out_and_in"),
    [
        # Spellings of libtpu 0.0.52, as it writes offloaded activations and what jax.device_put sends to the host.
        ("(f32[4,2048,512]{2,1,0}, f32[4,2048,512]{2,1,0:S(5)}, u32[]) copy-start(%h)", (4 * LAYER, 0)),
        ("(f32[1,2048,512]{2,1,0:S(5)}, f32[1,2048,512]{2,1,0}, u32[]) copy-start(%u)", (0, LAYER)),
        ("((f32[4,2048,512]{2,1,0:S(5)}, s32[]), f32[1,2048,512]{2,1,0}, u32[]) dynamic-slice-start(%h, %i)",
         (LAYER, 0)),
        ("((f32[4,2048,512]{2,1,0:S(5)}, f32[1,2048,512]{2,1,0}, s32[]), f32[4,2048,512]{2,1,0:S(5)}, u32[])"
         " dynamic-update-slice-start(%h, %u, %i)", (0, LAYER)),
        (f"((f32[1,2048,512]{{2,1,0}}), f32[512]{{0}}, u32[]) custom-call-start(%u), {EXECUTE}", (512 * 4, LAYER)),
        ('f32[4,2048,512]{2,1,0:S(5)} custom-call(), custom_call_target="AllocateBuffer"', (0, 0)),
        ("f32[4,2048,512]{2,1,0:S(5)} copy-done(%h)", (0, 0)),
        ("f32[1,2048,512]{2,1,0:S(1)} copy(%u)", (0, 0)),
    ],
)  # fmt: skip
def test_what_lies_in_the_memory_of_the_host_goes_out_of_it_and_into_it(line, out_and_in):
    program = f"HloModule m, is_scheduled=true\n\nENTRY %main () -> bf16[8] {{\n{TABLE}{HOST}  ROOT %x = {line}\n}}\n"
    done = work.work(text.parse(program))
    assert (done.from_host, done.to_host) == out_and_in
    assert done.unseen == ({"HostExecute": 1} if "HostExecute" in line else {})
