"""What a hang, a crash and an error show: the input of the case under way, the names of the line that raised."""

from pathlib import Path

import numpy as np
import pytest
from near_cases import case, judged, spec_of

from grader.judge.verdict import Verdict, judge
from grader.see.observation import ProcessResult
from grader.see.observe import Begun, failure_of, load
from grader.see.packing import pack

RAISES = """
def f(rows):
    cut = {"x": 2}
    half = rows // 2
    return cut["y"] + half + len(rows_of(rows))

def rows_of(rows):
    return rows
"""


def test_an_error_shows_what_the_names_of_its_line_stood_for(tmp_path: Path):
    path = tmp_path / "answers.py"
    path.write_text(RAISES)
    with pytest.raises(KeyError) as raised:
        load(path).f(8)
    # neither the argument, which is shown with the call, nor a function
    assert failure_of(raised.value, path).names == (("cut", pack({"x": 2})), ("half", pack(4)))


@pytest.mark.parametrize("status", ["hung", "died"])
@pytest.mark.parametrize(("begun", "shown"), [(0, None), (1, 0), (2, 1), (9, None)])
def test_what_did_not_come_to_its_end_shows_the_case_that_it_had_begun(status: str, begun: int, shown: int | None):
    right = [case(n, args=(np.arange(n + 1),)) for n in range(2)]
    seen = [ProcessResult(status, text="SIGSEGV", begun=begun)]
    verdict = judge(spec_of(), Verdict("ch90_one.f", ""), [right], seen, "f")
    assert verdict.outcome == ("hung" if status == "hung" else "broken")
    assert verdict.args == (None if shown is None else right[shown].args)
    assert judged(right, right).args is None


def test_a_child_counts_where_its_parent_reads():
    begun = Begun(2)
    assert begun.count(0) == 0
    for _ in range(300):
        begun.next()
    assert begun.count(0) == 255 and begun.count(1) == 0
