"""Loops whose count is not written beside them: at most so often, in two halves of a counter, or not known at all."""

import pytest

from minipod.hlo import text, work
from minipod.hlo.collectives import collectives

# As a TPU's compiler writes `while (i < 64) & ~all(done)`, and a psum in the body.
TOKENS = """HloModule tokens, is_scheduled=true, replica_count=4

%body (s: (s32[], f32[8], pred[])) -> (s32[], f32[8], pred[]) {
  %s = (s32[], f32[8], pred[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[8] get-tuple-element(%s), index=1
  %y = f32[8] all-reduce(%x), replica_groups={{0,1,2,3}}
  %kernel = pred[] custom-call(%y), custom_call_target="tpu_custom_call"
  ROOT %t = (s32[], f32[8], pred[]) tuple(%next, %y, %kernel)
}

%condition (s: (s32[], f32[8], pred[])) -> pred[] {
  %s = (s32[], f32[8], pred[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant(64)
  %less = pred[] compare(%i, %n), direction=LT
  %done = pred[] get-tuple-element(%s), index=2
  %not = pred[] not(%done)
  ROOT %both = pred[] and(%less, %not)
}

ENTRY %main (x: f32[8]) -> (s32[], f32[8], pred[]) {
  %zero = s32[] constant(0)
  %x = f32[8] parameter(0)
  %no = pred[] constant(false)
  %t = (s32[], f32[8], pred[]) tuple(%zero, %x, %no)
  ROOT %w = (s32[], f32[8], pred[]) while(%t), condition=%condition, body=%body
}
"""
UNKNOWN = TOKENS.replace("and(%less, %not)", "not(%done)")
FORTY = TOKENS.replace(
    "%not = pred[] not(%done)", "%m = s32[] constant(40)\n  %not = pred[] compare(%i, %m), direction=NE"
)


@pytest.mark.parametrize(
    ("program", "exactly", "counted", "said"),
    [
        (TOKENS, None, 64, {"at most": 1}),
        (UNKNOWN, None, 1, {"once": 1}),
        (FORTY, 40, 40, {}),  # it ends with the first condition that does not hold
        (TOKENS.replace("add(%i, %one)", "add(%i, %i)"), None, 1, {"once": 1}),  # no counter
    ],
)
def test_a_loop_counts_as_often_as_is_known_and_says_so(program, exactly, counted, said):
    read = text.parse(program)
    assert [c.times for c in collectives(read)] == [exactly]
    assert [c.times for c in collectives(read, unknown=1)] == [counted]
    found = work.work(read, unknown=1)
    assert (found.loops, found.unseen) == (said, {"kernel": counted})
    if exactly is None:
        with pytest.raises(ValueError, match="runs an unknown number of times"):
            work.work(read)


def test_unknown_loops_in_each_other_count_as_one_pass():
    state = "(s32[], f32[8], pred[])"
    loop = f"ROOT %w = {state} while(%t), condition=%condition, body="
    outer = f"%outer (t: {state}) -> {state} {{\n  %t = {state} parameter(0)\n  {loop}%body\n}}\n\n"
    found = text.parse(UNKNOWN.replace(f"{loop}%body", f"{loop}%outer").replace("ENTRY", f"{outer}ENTRY"))
    done = work.work(found, unknown=1)
    assert (done.loops, done.unseen) == ({"once": 2}, {"kernel": 1})
    assert [c.times for c in collectives(found, unknown=1)] == [1] and [c.times for c in collectives(found)] == [None]


# As a TPU's compiler writes `i < 12` for an i of 64 bits: two halves, and the carry of the low one.
LONG = """HloModule long, is_scheduled=true

%body (s: (u32[], u32[])) -> (u32[], u32[]) {
  %s = (u32[], u32[]) parameter(0)
  %low = u32[]{:T(128)} get-tuple-element(%s), index=0
  %one = u32[] constant(1)
  %next = u32[]{:T(128)} add(%low, %one)
  %carry = pred[] compare(%next, %low), direction=LT
  %high = u32[] get-tuple-element(%s), index=1
  %more = u32[] add(%high, %one)
  %then = u32[] select(%carry, %more, %high)
  %kernel = f32[8] custom-call(), custom_call_target="tpu_custom_call"
  ROOT %t = (u32[], u32[]) tuple(%next, %then)
}

%condition (s: (u32[], u32[])) -> pred[] {
  %s = (u32[], u32[]) parameter(0)
  %nothing = s32[] constant(0)
  %zero = u32[] constant(0)
  %n = u32[] constant(12)
  %high = u32[] get-tuple-element(%s), index=1
  %signed = s32[] bitcast-convert(%high)
  %negative = pred[] compare(%signed, %nothing), direction=LT
  %same = pred[] compare(%high, %zero), direction=EQ
  %low = u32[] get-tuple-element(%s), index=0
  %less = pred[] compare(%low, %n), direction=LT
  %both = pred[] and(%same, %less)
  ROOT %or = pred[] or(%negative, %both)
}

ENTRY %main () -> (u32[], u32[]) {
  %zero = u32[] constant(0)
  %start = u32[] constant(2)
  %t = (u32[], u32[]) tuple(%start, %zero)
  ROOT %w = (u32[], u32[]) while(%t), condition=%condition, body=%body
}
"""


def changed(change: str) -> str:
    """LONG after a change «old → new»."""
    old, _, new = change.partition(" → ")
    assert old in LONG
    return LONG.replace(old, new)


STOPS = """%or = pred[] or(%negative, %both)
  %stop = pred[] custom-call(), custom_call_target="Stop"
  ROOT %all = pred[] and(%or, %stop)"""


@pytest.mark.parametrize(
    ("change", "turns", "said"),
    [
        ("", 10, {}),
        ("%start = u32[] constant(2) → %start = u32[] constant(4294967295)", 0, {}),
        (f"ROOT %or = pred[] or(%negative, %both) → {STOPS}", 10, {"at most": 1}),  # something else may end it
    ],
)
def test_a_counter_in_two_halves_counts_while_its_low_half_does_not_wrap(change, turns, said):
    found = work.work(text.parse(changed(change)), unknown=1)
    assert (found.unseen.get("kernel", 0), found.loops) == (turns, said)


@pytest.mark.parametrize(
    "change",
    [
        "tuple(%start, %zero) → tuple(%start, %start)",  # the high half starts at 2
        "select(%carry, %more, %high) → add(%high, %one)",  # and grows each turn
        "select(%carry, %more, %high) → select(%carry, %high, %more)",
        "select(%carry, %more, %high) → select(%carry, %more, %low)",
        "compare(%next, %low), direction=LT → compare(%low, %next), direction=LT",
        "add(%low, %one) → subtract(%low, %one)",  # wraps
        "tuple(%next, %then) → tuple(%more, %then)",
        "ROOT %t = (u32[], u32[]) tuple(%next → %two = u32[] constant(2)\n  %skip = u32[] add(%low, %two)\n"
        "  ROOT %t = (u32[], u32[]) tuple(%skip",
        # each part of «high < 0 or (high == 0 and low < n)»
        "compare(%signed, %nothing), direction=LT → compare(%signed, %nothing), direction=GE",
        "bitcast-convert(%high) → bitcast-convert(%other)\n  %other = u32[] get-tuple-element(%s), index=0",
        "bitcast-convert(%high) → bitcast-convert(%up)\n  %one = u32[] constant(1)\n  %up = u32[] add(%high, %one)",
        "%nothing = s32[] constant(0) → %nothing = s32[] constant(1)",
        "compare(%high, %zero) → compare(%high, %n)",
        "compare(%low, %n), direction=LT → compare(%low, %n), direction=LE",
        "compare(%low, %n), direction=LT → compare(%low, %high), direction=LT",
        "ROOT %or = pred[] or(%negative, %both) → %later = pred[] compare(%low, %n), direction=GE\n"
        "  %all = pred[] and(%both, %later)\n  ROOT %or = pred[] or(%negative, %all)",
    ],
)
def test_where_any_part_of_the_counter_is_another_its_loop_is_unknown(change):
    assert work.work(text.parse(changed(change)), unknown=1).loops == {"once": 1}
