"""The same programs written otherwise send the same; damaged ones are refused in one sentence."""

import random
import re

import pytest
from hlo_variants import SPELLINGS, recordings, renamed, reordered, wrapped

from minipod import traffic
from minipod.hlo.ops import OPS

RECORDED = recordings()


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("opcodes", [OPS, ("while", "conditional")], ids=["collectives", "control"])
def test_an_asynchronous_form_of_a_program_costs_what_the_plain_one_costs(spelling, opcodes):
    changed = 0
    for name, text in RECORDED.items():
        other = wrapped(text, spelling, opcodes)
        assert traffic.read(other) == traffic.read(text), name
        changed += "wrapped." in other
    assert changed == len(RECORDED) if opcodes == OPS else changed > 10


def test_calls_may_stand_in_calls():
    for name, text in RECORDED.items():
        other = text
        for spelling in ("call", "custom-call", "async"):
            other = wrapped(other, spelling).replace("wrapped.", f"{spelling}.").replace("begun.", f"{spelling}.begun.")
        assert traffic.read(other) == traffic.read(text), name


def test_neither_the_order_of_attributes_nor_names_matter():
    for name, text in RECORDED.items():
        chance = random.Random(name)
        plain = traffic.read(text)
        assert traffic.read(reordered(text, chance)) == plain, name
        assert traffic.read(renamed(text, chance)) == plain, name


def test_a_text_that_is_cut_off_is_refused():
    for name, text in RECORDED.items():
        chance = random.Random(name)
        lines = text.rstrip().splitlines(keepends=True)
        for cut in chance.sample(range(1, len(lines)), min(8, len(lines) - 1)):
            with pytest.raises(ValueError, match="not the whole text of a compiled program"):
                traffic.read("".join(lines[:cut]))
            with pytest.raises(ValueError, match="not the whole text of a compiled program"):
                traffic.read("".join(lines[cut:]))
        for _ in range(8):
            with pytest.raises(ValueError, match="not the whole text|a bracket is never closed|is not «name ="):
                traffic.read(text[: chance.randrange(len(text.rstrip()))])


def test_a_text_without_one_of_its_computations_is_refused_unless_nothing_is_sent_there():
    for name, text in RECORDED.items():
        plain = traffic.read(text)
        for computation in re.findall(r"^%.*\{\n(?:.+\n)*?\}.*\n", text, re.MULTILINE):
            try:
                found = traffic.read(text.replace(computation, ""))
            except ValueError as error:
                assert "is not in this text" in str(error)
            else:
                assert found == plain, name
