"""What a plan keeps of a compiled program's text, where that is not understood: the rest, and one sentence."""

import json

import pytest
from recorded_programs import RECORDED

from minipod.hlo.text import parse
from minipod.pods.absent import mesh
from minipod.pods.facts import READ, facts, read
from minipod.pods.plan import plan
from minipod.pods.slices import slice_of

RING = RECORDED["tpu-ring"]
ON, AXES = "v5e:2x4", {"x": 8}
MEMORY = dict.fromkeys(("argument", "output", "alias", "temp", "peak"), 2**20)


def planned(text: str, on: str = ON, axes=AXES, **more):
    found = facts({"text": text, "memory": MEMORY, "silent": None}, slice_of(on), mesh(on, **axes), **more)
    return plan("program", on, mesh(on, **axes), found, {"jax": "0"})


def unknown_loop(text: str) -> str:
    """The counter is compared with what the data say."""
    lines = text.splitlines()
    return "\n".join(line.replace(" compare(", " custom-call(") if "pred[]" in line else line for line in lines) + "\n"


@pytest.mark.parametrize(
    ("change", "said", "sent_is_known"),
    [
        (lambda text: text, "", True),
        (unknown_loop, "", True),
        (lambda text: text.replace("collective-permute-start(", "collective-shuffle-start("),
         "no figure: the collective collective-shuffle-start is not understood: ", False),
        (lambda text: text.replace("source_target_pairs={{0,1}", "source_target_pairs={{a,b}"),
         "no figure: this collective-permute cannot be read (replica_groups in an unknown form", False),
        (lambda text: text.replace(" = f32[1024]", " is f32[1024]"),
         "no figure: this line of a compiled program is not \"name = shape operation(…)\": ", False),
        (lambda text: text.replace("ENTRY ", "START "),
         "no figure: this is not the whole text of a compiled program: ", False),
    ],
)  # fmt: skip
def test_a_plan_of_text_that_is_not_understood_says_so_in_one_sentence(change, said, sent_is_known):
    assert change(RING) != RING or not said
    made = planned(change(RING))
    notes = [note for note in made.notes if note.startswith("no figure: ")]
    assert len(notes) == bool(said) and all(note.startswith(said) and "\n" not in note for note in notes)
    assert made.fits and (made.flops is not None) == (not said) and (made.sent is not None) == sent_is_known
    assert "fits" in str(made) and made.memory["arguments"] == 2**20 and "1.00 MiB" in str(made)


def test_what_one_part_does_not_understand_the_others_do():
    """An element type without a size stops the memory traffic only."""
    axes = {"x": 2, "y": 4}
    text = RECORDED["tpu-fsdp-tp"]
    whole = read(parse(text), axes)
    assert "silent" not in whole and {"collectives", "overlaps", "flops", "moved"} <= set(whole)
    strange = text.replace("%multiply_subtract_fusion.1 = bf16[", "%multiply_subtract_fusion.1 = q9[")
    found = read(parse(strange), axes)
    assert strange != text and "the element type q9 is not known" in found["silent"]
    assert (found["collectives"], found["overlaps"]) == (whole["collectives"], whole["overlaps"])
    assert "moved" not in found and "flops" not in found


OFFLOADED = """HloModule m, is_scheduled=true

ENTRY %main () -> f32[2048,512] {
  %x = f32[2048,512]{1,0} parameter(0)
  %out = (f32[2048,512]{1,0:S(5)}, f32[2048,512]{1,0}, u32[]{:S(2)}) copy-start(%x)
  %there = f32[2048,512]{1,0:S(5)} copy-done(%out)
  %in = (f32[2048,512]{1,0}, f32[2048,512]{1,0:S(5)}, u32[]{:S(2)}) copy-start(%there)
  ROOT %back = f32[2048,512]{1,0} copy-done(%in)
}
"""


def test_what_goes_to_the_host_takes_its_time_and_can_be_the_bound():
    """4 MiB each way at 15 GB/s: at once at best, one after the other at most."""
    made, size = planned(OFFLOADED), 2048 * 512 * 4
    assert (made.from_host, made.to_host) == (size, size)
    assert made.seconds.host == pytest.approx(size / 1.5e10) == pytest.approx(made.seconds.most_of["host"] / 2)
    assert made.bound == "host" and made.seconds.least == made.seconds.host and made.estimate is None
    assert "from and to the host  " in str(made) and "4.00 MiB, 4.00 MiB" in str(made)
    assert "no estimate from the program's schedule: waits for the host's memory are not modelled" in made.notes
    assert made.data()["seconds"]["host"] == made.seconds.host


def test_where_no_source_says_how_fast_the_host_is_nothing_is_the_bound():
    made = planned(OFFLOADED, "7x:2x2x1")
    assert made.seconds.host is None and made.bound is None and made.data()["seconds"]["host"] is None
    text = "no source says how fast TPU7x reaches the host's memory: 8,388,608 bytes to and from it are not counted"
    assert any(text in note for note in made.notes)


def test_a_loop_of_unknown_length_counts_once_and_the_facts_say_so_or_as_often_as_the_reader_says():
    text = unknown_loop(RING)
    known, once, told = read(parse(RING), AXES), read(parse(text), AXES), read(parse(text), AXES, passes=7)
    assert (known["loops"], once["loops"], told["loops"]) == ({}, {"once": 1}, {"7 times": 1})
    assert [c["times"] for c in once["collectives"]] == [1] and told["collectives"] == known["collectives"]
    assert (told["flops"], told["moved"]) == (known["flops"], known["moved"])
    assert "silent" not in once and json.loads(json.dumps(once)).keys() == set(READ)
    strange = read(parse(text.replace("%param.3 = f32[", "%param.3 = q9[")), AXES)
    assert "loops" not in strange and [c["times"] for c in strange["collectives"]] == [None]  # nothing says it is one
    made, whole, least = planned(text, passes=7), planned(RING), planned(text)
    assert "loops of unknown length, counted 7 times (--passes): 1" in made.notes
    assert made.bound and not made.seconds.most_of and "at least" not in str(made)
    assert made.estimate == whole.estimate != least.estimate
    table, parts = dict(whole.table().rows), dict(least.table().rows)
    row = "seconds, by its schedule"
    assert table[row].count(" to ") == 1 and "at least" not in table[row]
    assert parts[row].startswith("at least ") and " to " not in parts[row]
    assert "bound by" in table and "bound by" not in parts


def test_axes_of_one_device_do_not_fill_the_table_where_there_are_many():
    made = planned(OFFLOADED, axes=dict(zip("abcdef", (1, 8, 1, 1, 1, 1), strict=True)))
    assert made.title == f"program on {ON} (b=8)" and "sent along b" in str(made) and "sent along a" not in str(made)
