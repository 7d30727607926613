"""Reading compiled programs' text: every spelling, recorded programs of TPUs and GPUs, and what cannot be read."""

import tomllib
from collections import Counter
from types import SimpleNamespace

import pytest
from recorded_programs import DATA, RECORDED

from minipod import traffic
from minipod.__main__ import main
from minipod.hlo import groups
from minipod.hlo.text import size

PROGRAMS = tomllib.loads((DATA / "expected.toml").read_text(encoding="utf-8"))["program"]
KINDS = ("cpu-0.10", "cpu-0.12", "tpu", "gpu")
GROUPS = "replica_groups={{0,1},{2,3},{4,5},{6,7}}, channel_id=1, use_global_device_ids=true"
EXPECTED = {f"{kind}-{e['name']}": e for e in PROGRAMS for kind in e.get("kinds", KINDS)}


@pytest.mark.parametrize("name", sorted({*EXPECTED, *RECORDED}))  # each recorded program has expected figures
def test_a_recorded_program_sends_what_its_shapes_say(name):
    expected = EXPECTED[name]
    collectives = traffic.read(RECORDED[name], SimpleNamespace(shape=expected["mesh"]))
    found = Counter()
    for c in collectives:
        assert c.times is not None
        found[c.op, c.axes, c.bytes] += c.times
    wanted = {(op, None if axes == "none" else tuple(axes), n): times for op, axes, n, times in expected["rows"]}
    assert found == wanted
    assert traffic.total(collectives) == expected["sent"]


def program(*lines, header="num_partitions=8"):
    body = "\n".join(f"  {line}" for line in ("%p = f32[4] parameter(0)", *lines))
    return f"HloModule test, {header}\n\nENTRY %main (p: f32[4]) -> f32[4] {{\n{body}\n}}\n"


def one(line, **options):
    (collective,) = traffic.read(program(line, **options))
    return collective


def test_the_three_spellings_of_groups_agree():
    columns = ((0, 4), (1, 5), (2, 6), (3, 7))
    rows = ((0, 1, 2, 3), (4, 5, 6, 7))
    for spelling, expected in {
        "{{0,4},{1,5},{2,6},{3,7}}": columns,
        "[4,2]<=[2,4]T(1,0)": columns,
        "mesh['x'=2,'y'=4] {'x'}": columns,
        "mesh[x=2,y=4] {x}": columns,
        "{{0,1,2,3},{4,5,6,7}}": rows,
        "[2,4]<=[8]": rows,
        "mesh['x'=2,'y'=4] {'y'}": rows,
        "mesh['x'=2,'y'=4] {'x','y'}": (tuple(range(8)),),
        "mesh['x'=2,'y'=4] {'y','x'}": ((0, 4, 1, 5, 2, 6, 3, 7),),
        # half of an axis: its 4 places are 2 × 2; `(1)2` moves in the first factor, `(2)2` in the second
        "mesh['x'=2,'y'=4] {'y':(2)2}": ((0, 1), (2, 3), (4, 5), (6, 7)),
        "mesh['x'=2,'y'=4] {'y':(1)2}": ((0, 2), (1, 3), (4, 6), (5, 7)),
        "mesh['x'=2,'y'=4] {'x','y':(1)2}": ((0, 2, 4, 6), (1, 3, 5, 7)),
        # the mesh's devices in another order, as a list and as a transposition: 0 2 1 3 4 6 5 7 in rows of 2
        "mesh['x'=4,'y'=2], device_ids=(0,2,1,3,4,6,5,7) {'y'}": ((0, 2), (1, 3), (4, 6), (5, 7)),
        "mesh['x'=4,'y'=2], device_ids=([2,2,2]T(0,2,1)) {'y'}": ((0, 2), (1, 3), (4, 6), (5, 7)),
        "mesh['x'=4,'y'=2], device_ids=([2,2,2]T(0,2,1)) {'x':(2)2}": ((0, 1), (2, 3), (4, 5), (6, 7)),
    }.items():
        line = f"ROOT %a = f32[4] all-reduce(%p), channel_id=1, replica_groups={spelling}, use_global_device_ids=true"
        assert one(line).groups == expected, spelling


def test_numbers_in_groups_may_name_replicas_or_partitions():
    # 2 replicas × 3 partitions; device = 3 × replica + partition
    def found(op, rest):
        return one(f"ROOT %a = f32[4] {op}(%p), {rest}", header="replica_count=2, num_partitions=3").groups

    everyone = (tuple(range(6)),)
    assert found("all-reduce", "replica_groups={}, channel_id=1, use_global_device_ids=true") == everyone
    assert found("all-reduce", "replica_groups={{0,1}}, channel_id=1") == everyone
    assert found("all-reduce", "replica_groups={{0},{1}}, channel_id=1") == ((0, 1, 2), (3, 4, 5))
    assert found("all-reduce", "replica_groups={{0,1}}") == ((0, 3), (1, 4), (2, 5))
    assert found("all-reduce", "replica_groups={}") == ((0, 3), (1, 4), (2, 5))  # no groups are all
    assert found("all-to-all", "replica_groups={{2,0}}, channel_id=1") == ((2, 0), (5, 3))
    assert found("collective-permute", "source_target_pairs={{0,2}}, channel_id=1") == ((0, 2), (3, 5))


@pytest.mark.parametrize(
    "lines, op, bytes",
    [
        (["%a = (f32[4], f32[4]) all-reduce(%p, %p), GROUPS"], "all-reduce", 32),
        (["%a = f32[4] all-reduce(f32[4]{0} %p), GROUPS"], "all-reduce", 16),
        (["%a = f32[8] all-gather(%p), dimensions={0}, GROUPS"], "all-gather", 32),
        (["%a = f32[2] reduce-scatter(%p), dimensions={0}, GROUPS"], "reduce-scatter", 16),
        (["%s = f32[4] all-reduce-start(%p), GROUPS", "%d = f32[4] all-reduce-done(%s)"], "all-reduce", 16),
        (["%s = (f32[4], f32[8]) all-gather-start(%p), GROUPS", "%d = f32[8] all-gather-done(%s)"], "all-gather", 32),
        (["%s = ((f32[4], f32[4]), (f32[8], f32[8])) all-gather-start(%p, %p), GROUPS",
          "%d = f32[8] all-gather-done(%s)"], "all-gather", 64),
        (["%s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(%p), source_target_pairs={{0,1}}",
          "%d = f32[4] collective-permute-done(%s)"], "collective-permute", 16),
    ],
)  # fmt: skip
def test_tuples_are_summed_and_asynchronous_pairs_count_once(lines, op, bytes):
    (c,) = traffic.read(program(*(line.replace("GROUPS", GROUPS) for line in lines)))
    assert (c.op, c.bytes, c.times) == (op, bytes, 1)


@pytest.mark.parametrize(
    "line",
    [
        "%a = f32[4] all-reduce(%p), replica_groups=everyone, channel_id=1, use_global_device_ids=true",
        "%a = f32[4] all-reduce(%p), replica_groups=mesh['x'=8] {'z'}, channel_id=1, use_global_device_ids=true",
        "%a = f32[4] all-reduce(%p), channel_id=1",
        "%a = f32[4] all-reduce(%nobody), " + GROUPS,
        "%a = f32[4] collective-permute(%p), channel_id=1",
        "%a = (f32[4], u32[], token[]) send(%p), channel_id=1",
    ],
)
def test_an_unreadable_collective_is_an_error_that_quotes_its_line(line):
    with pytest.raises(ValueError) as error:
        traffic.read(program(line))
    assert line in str(error.value)


def test_names_and_remarks_that_look_like_text_of_a_program_do_no_harm():
    line = 'ROOT %all-reduce.1 = f32[4] add(%p, %p), metadata={op_name="a), to_apply=%b {all-reduce(\\"x\\"\'"}'
    assert traffic.read(program(line)) == []
    line = "ROOT %a = f32[4] all-reduce(%p), metadata={op_name=\"p['w'], replica_groups={{0,1}}\"}, " + GROUPS
    assert one(line).groups == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_sizes_of_all_element_types():
    assert size("f32[2,8]{1,0:T(8,128)S(1)}") == 64
    assert size("f32[]") == 4
    assert size("f32[0,5]") == size("token[]") == size("()") == 0
    assert size("(bf16[3], (s64[2], pred[5]))") == 6 + 16 + 5
    assert [size(f"{t}[3]") for t in ("s4", "u4", "s2", "u1", "f4e2m1fn")] == [2, 2, 1, 1, 2]
    assert [size(f"{t}[4]") for t in ("f8e4m3fn", "f8e5m2fnuz", "f8e8m0fnu", "u8")] == [4, 4, 4, 4]
    assert [size(f"{t}[2]") for t in ("c64", "c128", "f64", "u16", "s64")] == [16, 32, 16, 4, 16]
    assert size("f32[<=6,2]") == 48
    with pytest.raises(ValueError, match="q7 is not known"):
        size("q7[3]")


def test_the_axes_are_those_along_which_anything_moves():
    mesh = {"x": 2, "y": 4}
    assert groups.axes(((0, 4), (1, 1)), mesh, pairs=True) == ("x",)
    assert groups.axes(((0, 4),), mesh) is None  # only one of the rows along x
    with pytest.raises(ValueError, match="more devices than the mesh"):
        groups.axes(((0, 9),), mesh)


def test_the_command_prints_a_table_and_a_question_mark_or_one_sentence_where_there_is_no_sum(capsys, tmp_path):
    file = tmp_path / "program.hlo"
    unknown = "minipod: a loop around this collective-permute of 4,096 bytes runs an unknown number of times: "
    for known, new, total, error in (
        ("", "", "28,672", ""),
        (" while(", " repeat(", "?", unknown),  # a kind of loop not seen before is not taken for a call
        ("collective-permute-start(", "collective-shuffle-start(", "", "minipod: the collective collective-shuffle"),
    ):
        file.write_text(RECORDED["tpu-ring"].replace(known, new))
        assert main(["traffic", str(file)]) == (2 if error else 0)
        out, err = capsys.readouterr()
        assert out.endswith(total and f"each device sends (compiled for TPU): {total}\n")
        assert err.startswith(error) and err.count("\n") == bool(error)
