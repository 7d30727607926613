"""The published figures of ch07, computed again: every claim about a publication is checked by its factor."""

import html
import json
import re
import subprocess
import sys
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

from lessons.ch07_collectives import figures
from minipod.traffic.interconnects import LINKS

ROOT = Path(__file__).resolve().parents[2]
FIGURES = figures.published()["figures"]
PROGRAM = """
import json
from minipod.devices import simulate
simulate(64)
from lessons.ch07_collectives import figures
again = {name: figures.ours(name) for name in figures.published()["figures"]}
tables = [str(figures.table()), figures.table("zh-Hans")._repr_html_(), str(figures.table("zh-Hant"))]
own = {name: figures.ours(name) for name in figures.published()["own"]}
measured = [str(figures.measured(lang)) for lang in ("en", "zh-Hant")]
folded = [figures.reasons("en")._repr_html_(), figures.reasons("zh-Hant")._repr_html_()]
print(json.dumps([again, *tables, own, measured, folded]))
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
    _, text, page, traditional, *_ = again
    lines = text.splitlines()
    assert lines[0].split() == ["publication", "asked", "published", "ours", "verdict", "measured"]
    assert len(lines) == 1 + len(FIGURES)
    assert lines[1].split()[-5:] == ["23", "µs", "17.48", "µs", "rounds"]
    assert sum(line.endswith("errs") for line in lines) == 4
    assert sum(not line.endswith(("agrees", "rounds", "errs")) for line in lines[1:]) == 5  # somebody measured
    assert page.count("<tr>") == len(lines) and "有误" in page and 'class="minipod figures"' in page
    assert "有誤" in traditional and "有误" not in traditional


def test_measurements_stand_beside_the_model_the_worst_last(again):
    """The Scaling Book's parts 3 (680 µs, 8 µs) and 12 (1.5 ms, 370 and 150 GB/s), and two of chapter 13's."""
    text, traditional = again[5]
    lines = [line.split() for line in text.splitlines()[1:]]
    found = {tuple(line[-7:-1]): line[-1] for line in lines}
    assert found == {
        ("4.2", "MB", "58.7", "ms", "65", "ms"): "1.1",
        ("4.2", "MB", "587", "ms", "650", "ms"): "1.1",
        ("33.6", "MB", "559", "µs", "680", "µs"): "1.2",
        ("10,000.0", "MB", "450", "GB/s", "370", "GB/s"): "1.2",
        ("536.9", "MB", "1.04", "ms", "1.5", "ms"): "1.4",
        ("0.1", "MB", "3", "µs", "8", "µs"): "2.7",
        ("58.7", "MB", "450", "GB/s", "150", "GB/s"): "3.0",
    }
    assert [line[-1] for line in lines] == sorted(line[-1] for line in lines)
    assert "實測" in traditional


def test_the_reason_of_every_row_is_folded_beside_it(again):
    for page, lang in zip(again[6], ("en", "zh-Hant"), strict=True):
        words = figures.published(lang)
        assert page.startswith(f'<details class="minipod"><summary>{words["reasons"][lang][-1]}</summary><table')
        assert page.count("<tr>") == 1 + len(FIGURES)
        assert all(html.escape(words["figures"][name]["why"][lang]) in page for name in FIGURES)


def test_what_chapter_13_measured_is_what_it_recorded(again):
    """Its page prints measured ÷ predicted; another machine's recording may differ by a third."""
    recorded = (ROOT / "book/outputs/ch13_network.json").read_text()
    row = re.search(r"4,194,304 +([\d.]+) +([\d.]+)", recorded)
    assert row
    for name, ratio in zip(("one-gigabit", "hundred-megabit"), row.groups(), strict=True):
        measured = figures.published()["own"][name]["printed"]["measured"]
        assert measured / again[4][name] == pytest.approx(float(ratio), rel=1 / 3)


def test_too_few_devices_are_answered_in_one_sentence():
    with pytest.raises(ValueError, match=r"the mesh .* needs 64 devices: call minipod.devices.simulate\(64\)"):
        figures.found(FIGURES["gather-x"]["compiled"])
