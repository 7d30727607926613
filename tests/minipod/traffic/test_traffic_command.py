"""`minipod traffic FILE`: a table, and where nobody can say what is sent, what is known, and one sentence."""

from pathlib import Path

import pytest

from minipod.__main__ import main

DATA = Path(__file__).parents[2] / "data"
RING = (DATA / "tpu-ring.hlo").read_text()


def asked(text: str, capsys, tmp_path: Path) -> tuple[int, str, str]:
    file = tmp_path / "program.hlo"
    file.write_text(text, encoding="utf-8")
    code = main(["traffic", str(file)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", ["tpu-ring", "tpu7x-0.12-large-layers", "cpu-0.12-branches"])
def test_what_can_be_counted_ends_with_0(name, capsys, tmp_path):
    code, out, err = asked((DATA / f"{name}.hlo").read_text(), capsys, tmp_path)
    assert (code, err) == (0, "") and "?" not in out


def test_a_loop_of_a_kind_not_seen_before_is_a_question_mark_and_a_sentence(capsys, tmp_path):
    """It is not taken for a call."""
    code, out, err = asked(RING.replace(" while(", " repeat("), capsys, tmp_path)
    assert code == 2 and out.splitlines()[-1] == "each device sends (compiled for TPU): ?"
    assert err == (
        "minipod: a loop around this collective-permute of 4,096 bytes runs an unknown number of times: there is no "
        "sum, and a budget over it cannot be checked\n"
    )


@pytest.mark.parametrize(
    ("known", "new"), [("collective-permute-start(", "collective-shuffle-start("), (" while(", " while ")]
)
def test_text_of_a_compiler_not_seen_before_is_one_sentence(known, new, capsys, tmp_path):
    assert known in RING
    code, out, err = asked(RING.replace(known, new), capsys, tmp_path)
    assert (code, out) == (2, "") and err.startswith("minipod: ") and err.count("\n") == 1
    assert new.split("=")[0].strip("( ") in err
