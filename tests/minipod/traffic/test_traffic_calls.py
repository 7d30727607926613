"""Which computations a program calls, in every spelling: each one runs as often as the program runs it."""

import pytest

from minipod import traffic
from minipod.hlo import overlap, work
from minipod.hlo.calls import DEEPEST
from minipod.hlo.text import parse

GROUPS = "replica_groups={{0,1,2,3,4,5,6,7}}, channel_id=1, use_global_device_ids=true"
SUM = f"ROOT %a = f32[4] all-reduce(%q), {GROUPS}"
ONE = [("all-reduce", 16, 1)]


def computation(name: str, *lines: str) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"%{name} (q: f32[4]) -> f32[4] {{\n  %q = f32[4] parameter(0)\n{body}}}\n\n"


def program(*lines: str, more: str = "") -> str:
    entry = computation("main", *lines).replace("%q", "%p")
    return f"HloModule test, num_partitions=8\n\n{more}ENTRY {entry}"


def sent(text: str) -> list[tuple[str, int, int | None]]:
    return [(c.op, c.bytes, c.times) for c in traffic.read(text)]


# No compiler here writes these: they are XLA's grammar, or ours where an attribute is none of XLA's.
@pytest.mark.parametrize(
    "lines",
    [
        ["%b = f32[4] call(%p), to_apply=%f"],
        ['%b = f32[4] custom-call(%p), custom_call_target="x", called_computations={%g, %f}'],
        ['%b = f32[4] custom-call(%p), custom_call_target="x", to_apply=%f'],
        ["%s = ((f32[4]), f32[4], s32[]) call-start(%p), to_apply=%f", "%b = f32[4] call-done(%s), to_apply=%f"],
        [
            '%s = ((f32[4]), f32[4], s32[]) async-start(%p), async_execution_thread="x", calls=%f',
            "%u = ((f32[4]), f32[4], s32[]) async-update(%s), calls=%f",
            "%v = ((f32[4]), f32[4], s32[]) async-update(%u), calls=%f",
            "%b = f32[4] async-done(%v), calls=%f",
        ],
        # as libtpu 0.0.52 does: the start has no operands yet
        [
            '%s = ((), f32[4], s32[]) custom-call-start(), custom_call_target="later", called_computations={%f}',
            "%u = ((f32[4]), f32[4], s32[]) custom-call-update(%s, %p)",
            "%b = f32[4] custom-call-done(%u)",
        ],
        ["%s = ((f32[4]), f32[4], s32[]) fusion-start(%p), kind=kLoop, calls=%f", "%b = f32[4] fusion-done(%s)"],
        ["%b = f32[4] brand-new(%p), somewhere={before={%g}, then={%f}}"],
        ["%b = f32[4] call(%p), to_apply=%f, control-predecessors={%f, %g}"],
        ['%b = f32[4] call(%p), metadata={op_name="calls=%f"}, to_apply=%f, backend_config={"runs":"%f"}'],
    ],
)
def test_whatever_attribute_names_a_computation_it_is_called_once(lines):
    more = computation("f", SUM) + computation("g", "ROOT %a = f32[4] negate(%q)")
    assert sent(program(*lines, more=more)) == ONE


@pytest.mark.parametrize(
    "line",
    [
        "conditional(%p, %p, %p), branch_computations={%f, %g}",
        "conditional-start(%p, %p, %p), false_computation=%g, true_computation=%f",
        "conditional(%p, %p, %p), in_the_first_case=%f, in_the_second={%g}",
    ],
)
def test_the_branches_of_a_conditional_are_alternatives_in_every_spelling(line):
    more = computation("f", SUM) + computation("g", "%b = f32[4] call(%q), to_apply=%f", "ROOT %c = f32[4] negate(%b)")
    found = traffic.read(program(f"%b = f32[4] {line}", more=more))
    assert [c.branch for c in found] == [((0, 0),), ((0, 1),)]
    assert traffic.total(found) == 28  # that of one: 2 × 7/8 × 16


STATE = "(s32[], f32[4])"
LOOP = f"""
%body (s: {STATE}) -> {STATE} {{
  %s = {STATE} parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant(2)
  %j = s32[] add(%i, %n)
  %q = f32[4] get-tuple-element(%s), index=1
  %a = f32[4] all-reduce(%q), {GROUPS}
  ROOT %t = {STATE} tuple(%j, %a)
}}

%test (s: {STATE}) -> pred[] {{
  %s = {STATE} parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %k = s32[] constant(9)
  ROOT %c = pred[] compare(%i, %k), direction=LT
}}

%three () -> s32[] {{
  ROOT %k = s32[] constant(3)
}}

%same (k: s32[]) -> s32[] {{
  ROOT %k = s32[] parameter(0)
}}

%whole (q: f32[4], z: s32[]) -> {STATE} {{
  %q = f32[4] parameter(0)
  %z = s32[] parameter(1)
  %t = {STATE} tuple(%z, %q)
  ROOT %w = {STATE} while(%t), condition=%test, body=%body
}}

"""
THREE = "%z = s32[] constant(3)"
TUPLE = f"%t = {STATE} tuple(%z, %p)"
COUNTED = [("all-reduce", 16, len(range(3, 9, 2)))]


@pytest.mark.parametrize(
    "lines",
    [
        [THREE, TUPLE, f"%w = {STATE} while(%t), body=%body, condition=%test"],
        [THREE, TUPLE, f"%w = (({STATE}), {STATE}) while-start(%t), condition=%test, body=%body"],
        [THREE, f"%w = ((f32[4], s32[]), {STATE}) call-start(%p, %z), to_apply=%whole"],
        # the start of the counter comes out of something asynchronous
        ["%s = ((), s32[]) call-start(), to_apply=%three", "%z = s32[] call-done(%s)", TUPLE,
         f"%w = {STATE} while(%t), condition=%test, body=%body"],
        [THREE.replace("%z", "%k"), "%s = ((s32[]), s32[]) async-start(%k), calls=%same",
         "%u = ((s32[]), s32[]) async-update(%s), calls=%same", "%z = s32[] async-done(%u), calls=%same", TUPLE,
         f"%w = {STATE} while(%t), condition=%test, body=%body"],
    ],
)  # fmt: skip
def test_a_loop_keeps_its_trip_count_in_every_spelling(lines):
    assert sent(program(*lines, more=LOOP)) == COUNTED


def test_functions_of_single_elements_are_not_called():
    add = "%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  ROOT %y = f32[] parameter(1)\n}\n\n"
    for operation in ("reduce", "map", "sort", "scatter", "select-and-scatter", "reduce-window", "sort-start"):
        line = f"%b = f32[4] {operation}(%p), select=%add, to_apply=%add, scatter=%add"
        assert sent(program(line, more=add)) == []
        with pytest.raises(ValueError, match="is in f, which no known operation calls"):
            traffic.read(program(line.replace("%add", "%f"), more=computation("f", SUM)))


@pytest.mark.parametrize(
    "line, said",
    [
        (f"%w = {STATE} while(%p), body=%body", "does not have exactly one state, one condition and one body"),
        ("%b = f32[4] call-done(%p), to_apply=%f", "is in f, which no known operation calls"),  # a done alone
        ("%b = f32[4] call(%p), to_apply=%g", "^the computation g is not in this text: %b = .*to_apply=%g$"),
        (f"%s = ((), f32[4]) all-reduce-start(), {GROUPS}", "this all-reduce cannot be read .it has no operands."),
    ],
)
def test_what_cannot_be_followed_is_named(line, said):
    with pytest.raises(ValueError, match=said):
        traffic.read(program(line, more=LOOP if "while" in line else computation("f", SUM) if "done" in line else ""))
    text = program("%b = f32[4] negate(%p)")
    for second in (text, text.replace("%main", "%other")):
        with pytest.raises(ValueError, match="contains more than one program"):
            traffic.read(text + second)


# A TPU's asynchronous collective in three fusions, each of which spells it out: one start, one in between, one done.
def fusions(channel: str = ", channel_id=7, use_global_device_ids=true", inner: str = "") -> str:
    gather = f"all-gather(%q), replica_groups={{{{0,1,2,3,4,5,6,7}}}}, dimensions={{0}}{channel}"
    mark = 'ROOT %c = f32[4] custom-call(%g), custom_call_target="AsyncCollective{}"'
    if inner:  # one level deeper, and shared by all three
        gather, inner = f"call(%q), to_apply={inner}", computation(inner[1:], f"ROOT %h = f32[32] {gather}")
    return (
        inner
        + computation("starts", f"%g = f32[32] {gather}", mark.format("Start"))
        + computation("goes_on", f"%g = f32[32] {gather}", "ROOT %c = f32[4] negate(%q)")
        + computation("ends", f"%g = f32[32] {gather}", mark.format("Done"))
    )


STEPS = [f"%{n} = f32[4] fusion(%p), kind=kCustom, calls=%{n}" for n in ("starts", "goes_on", "ends")]


@pytest.mark.parametrize("inner", ["", "%deeper"])
def test_a_collective_in_three_fusions_counts_once(inner):
    assert sent(program(*STEPS, more=fusions(inner=inner))) == [("all-gather", 128, 1)]
    in_a_call = computation("f", *(step.replace("%p", "%q") for step in STEPS))
    line = "%s = ((f32[4]), f32[4], s32[]) call-start(%p), to_apply=%f"
    assert sent(program(line, more=fusions(inner=inner) + in_a_call)) == [("all-gather", 128, 1)]
    # a plain one beside it counts, too: without channels (a program of replicas) nothing but its place tells them apart
    plain = "%r = f32[32] all-gather(%p), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}"
    text = program(*STEPS, plain, more=fusions(channel="", inner=inner)).replace("num_partitions", "replica_count")
    assert sent(text) == [("all-gather", 128, 1)] * 2
    without = fusions(inner=inner).replace("AsyncCollectiveStart", "Other")
    with pytest.raises(ValueError, match="the start of this asynchronous collective cannot be found"):
        traffic.read(program(*STEPS, more=without))


def test_deep_nesting_is_read_to_a_limit_and_a_computation_that_calls_itself_is_refused():
    for between in (0, 30):
        names = ["f", *(f"g{i}" for i in range(between)), "f"]
        calls = [f"ROOT %b = f32[4] call(%q), to_apply=%{to}" for to in names[1:]]
        more = "".join(computation(name, line) for name, line in zip(names, calls, strict=False))
        with pytest.raises(ValueError, match="^the computation f calls itself: .*=%f$"):
            traffic.read(program("%b = f32[4] call(%p), to_apply=%f", more=more))
    assert sent(nested(DEEPEST)) == ONE
    for depth in (DEEPEST + 1, 20 * DEEPEST):
        with pytest.raises(ValueError, match=f"^the computations of this program are nested {depth} deep"):
            traffic.read(nested(depth))


def nested(depth: int) -> str:
    """`depth` computations in each other, the entry among them."""
    more = computation("f1", SUM)
    for i in range(2, depth):
        more += computation(f"f{i}", f"ROOT %b = f32[4] call(%q), to_apply=%f{i - 1}")
    return program(f"%b = f32[4] call(%p), to_apply=%f{depth - 1}", more=more)


def test_what_sends_nothing_is_not_walked_again_and_again():
    """Each of 60 computations calls the one before it twice: 2⁶⁰ calls, and nothing in them."""
    more = computation("f0", "ROOT %b = f32[4] negate(%q)")
    for i in range(1, 60):
        calls = [f"%{n} = f32[4] call(%q), to_apply=%f{i - 1}" for n in "bc"]
        more += computation(f"f{i}", *calls)
    start = f"%s = f32[4] all-reduce-start(%p), {GROUPS}"
    text = program(start, "%b = f32[4] call(%p), to_apply=%f59", "%a = f32[4] all-reduce-done(%s)", more=more)
    assert sent(text) == ONE
    assert work.work(parse(text)).flops == {}
    (found,) = overlap.overlaps(parse(text))
    assert found.products == 0


def test_in_the_short_form_without_signs_words_are_names_only_where_they_name_a_computation():
    text = program(
        "%b = f32[4] call(%p), to_apply=%replicated, sharding={replicated}", more=computation("replicated", SUM)
    )
    assert sent(text) == ONE  # the user's function has the name of a sharding
    assert sent(text.replace("%", "").replace(", sharding={replicated}", "")) == ONE
    assert not parse(text.replace("%", "")).computations["main"]["b"].signed
