"""`minipod traffic FILE`: a table, and where the sum is not known, a question mark and one sentence."""

import pytest
from recorded_programs import RECORDED

from minipod.__main__ import main

RING = RECORDED["tpu-ring"]
UNKNOWN = (
    "minipod: a loop around this collective-permute of 4,096 bytes runs an unknown number of times: there is no sum, "
    "and a budget over it cannot be checked\n"
)


@pytest.mark.parametrize(
    ("known", "new", "table", "error"),
    [
        ("", "", "each device sends (compiled for TPU): 28,672", ""),
        # a kind of loop not seen before is not taken for a call
        (" while(", " repeat(", "each device sends (compiled for TPU): ?", UNKNOWN),
        # of text that is not understood there is no table
        ("collective-permute-start(", "collective-shuffle-start(", "", "collective-shuffle-start"),
        (" while(", " while ", "", "while"),
    ],
)
def test_the_command_prints_a_table_or_one_sentence(known, new, table, error, capsys, tmp_path):
    file = tmp_path / "program.hlo"
    file.write_text(RING.replace(known, new))
    code = main(["traffic", str(file)])
    out, err = capsys.readouterr()
    assert code == (2 if error else 0) and out.rpartition("\n")[0].rpartition("\n")[2] == table
    assert error in err and err.count("\n") == bool(error) and err.startswith("minipod: " if error else "")
