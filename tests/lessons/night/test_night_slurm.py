"""Chapter 16: the nights under a real Slurm, as recorded, and run again."""

import json
import re

import numpy as np
import pytest

from publish.recorders import record_night, slurm

ROUNDING = 1e-5  # relative: another number of devices adds up in another order
WHY_NOT = slurm.why_not()


def check(recording: dict) -> None:
    """What the page says of the nights."""
    nights = recording["nights"]
    assert nights["same"]["losses"] == nights["whole"]["losses"], "to the bit"
    np.testing.assert_allclose(nights["moved"]["losses"], nights["whole"]["losses"], rtol=ROUNDING)
    assert [turn(nights[name]) for name in ("whole", "same", "moved")] == [
        ["begins", "loss of"],
        ["begins", "told", "ended with 75", "begins", "ended with 137", "begins", "loss of"],
        ["begins", "told", "begins", "told", "begins", "loss of"],
    ]
    for night in nights.values():
        steps = [[step for _, step in start] for start in night["starts"]]
        assert steps[0][0] == 1 and steps[-1][-1] == len(night["losses"]) == record_night.STEPS
        for before, after in zip(steps, steps[1:], strict=False):
            assert after[0] <= before[-1] + 1, "no step is left out"
    first, second, third = ([step for _, step in start] for start in nights["same"]["starts"])
    assert second[0] == first[-1] + 1, "told to go: nothing is repeated"
    assert 0 <= second[-1] - third[0] + 1 <= 20, "killed: no more than two checkpoints' steps"


def turn(night: dict) -> list[str]:
    """What happened, in a few words each."""
    said = (re.match(r"begins|told|loss of|ended with \d+", line) for line in night["output"])
    return [match[0] for match in said if match]


def test_the_recorded_nights_are_as_the_page_says():
    check(json.loads((record_night.HERE / "night.json").read_text()))


def test_the_goodput_on_the_page_is_what_the_recorded_steps_say():
    nights = json.loads((record_night.HERE / "night.json").read_text())["nights"]
    pages = json.loads((record_night.HERE.parents[1] / "book/outputs/ch16_capstone.json").read_text())
    (cell,) = (cell for cell in pages["cells"] if cell["name"] == "goodput")
    said = re.findall(r"(\w+) +(\d+) of (\d+) s: (\d+)%; (\d+) s between starts, (\d+) steps", str(cell["outputs"]))
    took = {}
    for name, night in nights.items():
        clock = np.array([second for start in night["starts"] for second, _ in start])
        took[name] = float(np.ptp(clock))
        working = sum(start[-1][0] - start[0][0] for start in night["starts"])
        steps = [step for start in night["starts"] for _, step in start]
        twice = len(steps) - len(set(steps))
        good = took["whole"] / took[name]
        told = [t for t in said if t[0] == name]
        numbers = [took["whole"], took[name], 100 * good, took[name] - working, twice]
        assert told == ([(name, *(f"{n:.0f}" for n in numbers))] if name != "whole" else [])
        assert name == "whole" or took[name] - working > took["whole"], "the gaps are more than the training"


def check_endings(recording: dict) -> None:
    """What the page says of the three nights that try the script."""
    nights = recording["nights"]
    assert len(nights["often"]["starts"]) == record_night.TIMES + 1
    assert len(nights["limit"]["starts"]) > 1, "how many two minutes allow is the machine's"
    for name, steps in (("often", record_night.OFTEN), ("limit", record_night.LIMIT)):
        night = nights[name]
        starts = len(night["starts"])
        assert night["job"] == ["COMPLETED", "0:0"]
        ends = [0, *(last for _, last in night["starts"])]
        assert [first for first, _ in night["starts"]] == [n + 1 for n in ends[:-1]] and ends[-1] == steps
        assert turn(night) == ["begins", "told", "ended with 75"] * (starts - 1) + ["begins", "loss of"]
    full = nights["full"]
    assert full["job"] == ["FAILED", "2:0"] and len(full["starts"]) == 1
    assert full["output"][-1] == "a person must look; not started again" and "File too large" in full["output"][-2]


def test_the_recorded_endings_are_as_the_page_says():
    check_endings(json.loads((record_night.HERE / "endings.json").read_text()))


@pytest.mark.long
@pytest.mark.rarely
@pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")
def test_the_nights_go_so_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record_night.prepare(tmp_path)
    check(json.loads(json.dumps(record_night.night())))
    check_endings(json.loads(json.dumps(record_night.endings())))
