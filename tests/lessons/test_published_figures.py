"""The published figures of ch07, computed again: every claim about a publication is checked by its factor."""

import json
import subprocess
import sys
from fractions import Fraction
from math import prod

import pytest

from lessons.ch07_collectives import figures
from minipod.traffic.interconnects import LINKS

FIGURES = figures.published()["figures"]
PROGRAM = """
import json
from minipod.devices import simulate
simulate(64)
from lessons.ch07_collectives import figures
again = {name: figures.ours(name) for name in figures.published()["figures"]}
print(json.dumps([again, str(figures.table()), figures.table("zh-Hans")._repr_html_(), str(figures.table("zh-Hant"))]))
"""


@pytest.fixture(scope="module")
def again():
    """Ours for every figure, and the tables, from a process of its own with 64 devices."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def factor(figure):
    return prod(Fraction(part.strip()) for part in figure["printed"]["factor"].split("*"))


def test_there_are_twenty_figures_or_more_from_three_publications():
    assert len(FIGURES) >= 20
    assert {figure["where"].split(" §")[0] for figure in FIGURES.values()} == {"Scaling Book", "d2l", "ZeRO"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_complete(name):
    figure = FIGURES[name]
    assert figure["edition"]
    assert all(figure[words][lang] for words in ("asked", "why") for lang in ("en", "zh-Hans"))
    assert figure["compiled"]["program"] in figures.PROGRAMS
    assert figure["printed"]["unit"] == "Ψ" or figure["compiled"]["link"] in LINKS
    assert (figure["printed"]["verdict"] == "agrees") == (factor(figure) == 1)


def test_what_is_printed_differs_from_ours_by_its_factor_and_no_more(again):
    expected = {name: figure["printed"]["figure"] * float(factor(figure)) for name, figure in FIGURES.items()}
    assert again[0] == pytest.approx(expected, rel=0.03)  # printed with two digits: 11 for 11.3


def test_one_question_has_one_answer_whatever_was_printed(again):
    """An all-reduce over four devices of a sixteenth of bf16[1024, 4096]: 2 × 3/4 × 524,288 bytes at 9e10 a second."""
    for name, printed in (("reduce-z-first", 5.8), ("reduce-z-second", 190), ("reduce-z-third", 11.6)):
        assert FIGURES[name]["printed"]["figure"] == printed
        assert again[0][name] == pytest.approx(2 * 0.75 * (2 * 1024 * 4096 / 16) / 9e10 * 1e6)


def test_the_table_has_a_row_for_each(again):
    _, text, page, traditional = again
    lines = text.splitlines()
    assert lines[0].split() == ["publication", "asked", "published", "ours", "ratio", "verdict"]
    assert len(lines) == 1 + len(FIGURES)
    assert lines[1].split()[-6:] == ["23", "µs", "17.48", "µs", "1.32", "rounds"]
    assert sum(line.endswith("errs") for line in lines) == 4
    assert page.count("<tr>") == len(lines) and "有误" in page and 'class="minipod figures"' in page
    assert "有誤" in traditional and "有误" not in traditional


def test_too_few_devices_are_answered_in_one_sentence():
    with pytest.raises(ValueError, match=r"the mesh .* needs 64 devices: call minipod.devices.simulate\(64\)"):
        figures.found(FIGURES["gather-x"]["compiled"])
