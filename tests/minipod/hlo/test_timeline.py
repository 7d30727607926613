"""Timelines of scheduled programs, against arithmetic by hand.

The machine of these tests: a product of 8 × 8 takes a second, a KiB to or from memory a second, and a KiB that is
reduced or gathered a second of the links.
"""

import pytest
from recorded_programs import RECORDED

from minipod.hlo import overlap, text
from minipod.hlo.timeline import Machine, timeline
from minipod.hlo.work import work

MACHINE = Machine(
    compute=lambda flops: sum(flops.values()) / 1024,
    memory=lambda moved: moved / 1024,
    network=lambda collective: collective.bytes / 1024,
)
FAST = "f32[8,8]{1,0:S(1)}"
GROUPS = "replica_groups={{0,1}}, use_global_device_ids=true"


def product(name, operand="%p"):
    """A second of the core."""
    contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    return f"  %{name} = {FAST} dot({operand}, %p), {contracted}\n"


def copy(name, kib=1):
    """So many seconds of the memory, beside the core."""
    array = f"f32[{kib},256]"
    return f"  %{name} = ({array}{{1,0:S(1)}}, {array}{{1,0}}, u32[]) copy-start(%q)\n"


def copied(name):
    return f"  %{name}d = f32[1,256]{{1,0:S(1)}} copy-done(%{name})\n"


def reduce(name, start="", channel=1):
    """A second of the links."""
    return f"  %{name} = f32[16,16]{{1,0:S(1)}} all-reduce{start}(%r), channel_id={channel}, {GROUPS}\n"


def reduced(name):
    return f"  %{name}d = f32[16,16]{{1,0:S(1)}} all-reduce-done(%{name})\n"


def program(*lines, more=""):
    start = f"  %p = {FAST} parameter(0)\n  %q = f32[16,16]{{1,0}} parameter(1)\n"
    start += "  %r = f32[16,16]{1,0:S(1)} parameter(2)\n"
    entry = f"ENTRY %main () -> () {{\n{start}{''.join(lines)}  ROOT %root = () tuple()\n}}\n"
    return text.parse(f"HloModule m, is_scheduled=true, num_partitions=2\n\n{more}\n{entry}")


def run(*lines, more=""):
    return timeline(program(*lines, more=more), MACHINE)


@pytest.mark.parametrize(
    ("lines", "seconds", "for_memory"),
    [
        # 0-1 product, 1-3 the rest of the copy, 3-4 product
        ([copy("a", 3), product("x"), copied("a"), product("y")], 4.0, 2.0),
        ([copy("a", 1), product("x"), product("y"), copied("a")], 2.0, 0.0),
        ([product("x"), copy("a", 3)], 4.0, 3.0),  # without a done the step ends with the copy
        # one copy after the other, as they were started: a to 1, then b under the product to 2, its rest to 3
        ([copy("a", 1), copy("b", 2), copied("a"), product("x"), copied("b")], 3.0, 2.0),
        ([copy("a", 1), copy("b", 2), copied("b"), product("x"), copied("a")], 4.0, 3.0),
    ],
)
def test_a_copy_is_waited_for_as_far_as_no_product_hides_it(lines, seconds, for_memory):
    one = run(*lines)
    assert (one.seconds, one.for_memory) == (seconds, for_memory)


def test_the_memory_serves_the_running_instruction_first():
    # The negation reads and writes 2 KiB: 2 seconds in which the copy gets nothing, then the copy's own second.
    negate = "  %n = f32[16,16]{1,0} negate(%q)\n"
    assert run(copy("a"), negate, copied("a")).seconds == 3.0
    # This product reads half a KiB within its second; the copy has what is left, and half a second remains.
    reads = f"  %n = {FAST} dot(%h, %g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
    own = "".join(f"  %{name} = f32[8,8]{{1,0}} parameter({i})\n" for i, name in enumerate("hg", 3))
    assert run(own, copy("a"), reads, copied("a")).seconds == 1.5


def test_asynchronous_collectives_share_the_links_and_one_that_is_not_holds_the_core_and_not_the_memory():
    one = run(copy("a", 2), reduce("s"), product("x"), copied("a"))
    assert (one.seconds, one.network, one.for_network, one.for_memory) == (2.0, 1.0, 1.0, 0.0)
    one = run(reduce("s", "-start"), product("x"), reduced("s"))
    assert (one.seconds, one.for_network) == (1.0, 0.0)
    both = run(reduce("s", "-start"), reduce("t", "-start", 2), product("x"), reduced("s"), reduced("t"))
    assert (both.seconds, both.network, both.for_network) == (2.0, 2.0, 1.0)
    after = run(reduce("s", "-start"), reduce("t", channel=2), product("x"), reduced("s"))
    assert (after.seconds, after.for_network) == (3.0, 2.0)  # it begins when the links are free


def test_a_fusion_lasts_as_long_as_the_longest_of_what_is_in_it():
    inside = (
        f"%f () -> f32[8,8] {{\n  %p = f32[8,8]{{1,0}} parameter(0)\n{product('d').replace('  %d', '  ROOT %d')}}}\n"
    )
    fusion = f"  %n = {FAST} fusion(%h), kind=kOutput, calls=%f\n"
    own = "  %h = f32[8,8]{1,0} parameter(3)\n"
    one = run(own, copy("a"), fusion, copied("a"), more=inside)
    assert (one.compute, one.memory, one.seconds) == (1.0, 1.25, 1.25)


S32 = "s32[]{:S(1)}"
PAIR = f"({FAST}, {S32})"
LOOP = f"""\
%body (s: {PAIR}) -> {PAIR} {{
  %s = {PAIR} parameter(0)
  %p = {FAST} get-tuple-element(%s), index=0
  %i = {S32} get-tuple-element(%s), index=1
  %q = f32[16,16]{{1,0}} constant(0)
  %one = {S32} constant(1)
  %next = {S32} add(%i, %one)
LINES  ROOT %root = {PAIR} tuple(%p, %next)
}}
%condition (s: {PAIR}) -> pred[] {{
  %s = {PAIR} parameter(0)
  %i = {S32} get-tuple-element(%s), index=1
  %five = {S32} constant(5)
  ROOT %less = pred[]{{:S(1)}} compare(%i, %five), direction=LT
}}
"""


def looped(*inside, start="constant(0)", around=("", "")):
    zero = f"  %zero = {S32} {start}\n"
    loop = f"  %in = {PAIR} tuple(%p, %zero)\n  %out = {PAIR} while(%in), condition=%condition, body=%body\n"
    return run(zero, around[0], loop, around[1], more=LOOP.replace("LINES", "".join(inside)))


def test_a_loop_takes_as_many_turns_as_it_has_and_what_was_started_before_it_has_what_it_leaves():
    one = looped(copy("a", 2), product("x"), copied("a"), product("y"))
    assert (one.seconds, one.compute, one.memory, one.for_memory) == (15.0, 10.0, 10.0, 5.0)
    assert looped(product("x"), start="parameter(3)").seconds == 1.0  # unknown: one
    one = looped(copy("b"), product("x"), product("y"), copied("b"), around=(copy("a", 7), copied("a")))
    # Ten seconds, of which the loop's own copies take five; the last two of seven are waited for.
    assert (one.seconds, one.for_memory) == (12.0, 2.0)
    array = "f32[7,256]{1,0:S(1)}"
    start = f"  %b = {array} parameter(4)\n  %s = {array} all-reduce-start(%b), channel_id=9, {GROUPS}\n"
    end = f"  %sd = {array} all-reduce-done(%s)\n"
    one = looped(f"  %r = {array.replace('7', '1')} constant(0)\n", reduce("n"), product("x"), around=(start, end))
    # Five turns of two seconds; five seconds of the links are the loop's own, and two of seven are waited for.
    assert (one.seconds, one.network, one.for_network) == (12.0, 12.0, 7.0)


def test_what_is_wrapped_as_asynchronous_computes_on_the_core_and_moves_beside_it():
    inside = f"%f () -> f32[8,8] {{\n  %q = f32[16,16]{{1,0}} parameter(0)\n  %p = {FAST} parameter(1)\n"
    inside += f"{product('d')}  ROOT %n = f32[16,16]{{1,0}} negate(%q)\n}}\n"
    start = f"  %a = ((f32[16,16], {FAST}), f32[16,16], s32[]) async-start(%q, %p), calls=%f\n"
    update = "  %u = ((f32[16,16]), f32[16,16], s32[]) async-update(%a)\n"
    one = run(start, update, "  %ad = f32[16,16]{1,0} async-done(%u)\n", product("y"), more=inside)
    # Two KiB: two seconds of the memory, one of them under the product that is wrapped with it; then the other product.
    assert (one.seconds, one.compute, one.memory, one.for_memory) == (3.0, 2.0, 2.0, 1.0)


def test_a_kernel_in_a_fusion_moves_what_it_says():
    says = 'custom_call_target="tpu_custom_call", backend_config={"cost_estimate":{"bytes_accessed":"4096"}}'
    more = f"%f () -> f32[8,8] {{\n  %h = {FAST} parameter(0)\n  ROOT %k = {FAST} custom-call(%h), {says}\n}}\n"
    assert run(f"  %n = {FAST} fusion(%p), kind=kCustom, calls=%f\n", more=more).memory == 4.0


def test_the_slowest_branch_counts_with_all_that_any_branch_does():
    def branch(name, *lines):
        inside = f"  %p = {FAST} parameter(0)\n{''.join(lines)}  ROOT %c = {FAST} copy(%p)\n"
        return f"%{name} (p: f32[8,8]) -> f32[8,8] {{\n{inside}}}\n"

    heavy = branch("b0", product("x"), product("y"))
    reads = branch("b1", "  %q = f32[16,16]{1,0} constant(0)\n", copy("a", 1), copied("a"))
    line = f"  %k = s32[] parameter(3)\n  %x = {FAST} conditional(%k, %p, %p), branch_computations={{%b0, %b1}}\n"
    one = run(line, more=heavy + reads)
    assert (one.seconds, one.compute, one.memory) == (2.0, 2.0, 1.0)


def test_a_collective_that_one_fusion_starts_and_another_ends():
    def part(name, mark):
        gather = "  %g = f32[16,16]{1,0:S(1)} all-reduce(%r), channel_id=7, " + GROUPS
        lines = f"  %p = {FAST} parameter(0)\n  %r = f32[16,16]{{1,0:S(1)}} parameter(1)\n{gather}\n"
        lines += f'  %m = f32[4] custom-call(%g), custom_call_target="AsyncCollective{mark}"\n' if mark else ""
        return f"%{name} () -> f32[8,8] {{\n{lines}{product('d').replace('  %d', '  ROOT %d')}}}\n"

    more = part("starts", "Start") + part("goes_on", "") + part("ends", "Done")
    lines = [f"  %{n} = {FAST} fusion(%p, %r), kind=kCustom, calls=%{n}\n" for n in ("starts", "goes_on", "ends")]
    one = run(*lines, more=more)
    # Started after the first product, hidden by the second.
    assert (one.seconds, one.compute, one.network, one.for_network) == (3.0, 3.0, 1.0, 0.0)
    short = run(lines[0], lines[2], more=more)
    assert (short.seconds, short.for_network) == (3.0, 1.0)
    large = [line.replace("%r)", "%r, %q)") for line in lines]
    reads = "  %q = f32[16,16]{1,0} parameter(2)\n  %e = f32[16,16]{1,0} negate(%q)\n"
    more = more.replace(f"  %p = {FAST} parameter(0)\n", f"  %p = {FAST} parameter(0)\n{reads}")
    assert run(*large, more=more).memory == 3.0


def test_on_request_what_is_in_fast_memory_lasts_as_long_as_the_compiler_expects():
    says = ', backend_config={"window_config":{"estimated_cycles":"3000"}}\n'
    fast, reads = product("x").replace("\n", says), "  %n = f32[16,16]{1,0:S(1)} negate(%q)" + says
    slow = Machine(MACHINE.compute, MACHINE.memory, MACHINE.network, cycle=1e-3)
    one = timeline(program(copy("a", 2), fast, copied("a")), slow)
    assert (one.seconds, one.compute, one.for_memory) == (3.0, 3.0, 0.0)
    assert timeline(program(reads), slow).seconds == run(fast).seconds == 1.0


def test_of_what_compilers_write_the_work_is_all_there_and_no_more():
    """Every recorded program is understood."""
    for name, recorded in RECORDED.items():
        program = text.parse(recorded)
        done, one = work(program), timeline(program, MACHINE)
        assert done.moved > 0 and all(count > 0 for count in done.flops.values()), name
        assert all(o.products >= 0 for o in overlap.overlaps(program)), name
        assert one.compute == pytest.approx(sum(done.flops.values()) / 1024), name
        assert one.memory == pytest.approx(done.moved / 1024), name
        assert one.least * (1 - 1e-9) <= one.seconds <= one.most * (1 + 1e-9), name
