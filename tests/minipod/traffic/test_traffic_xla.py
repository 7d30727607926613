"""XLA's own parser as an oracle: where it can read a program's text, it reads what we read.

`jaxlib._hlo` is private, and it aborts the process on some texts: for a test it is good enough, for a user it is not.
"""

import json
import subprocess
import sys

import pytest
from hlo_variants import recordings

from minipod import traffic
from minipod.hlo.text import parse

# What XLA refuses, or dies on, for its printer writes more than its parser reads.
UNREADABLE = {
    "gpu-broadcast",  # has_dynamic_root (0.10)
    "gpu-nested",  # output_to_operand_aliasing of an operation that may not have it
    *(name for name in recordings() if name.startswith("tpu7x-0.12-")),  # a start without operands
}

# For each text on stdin, a line of JSON: its computations as XLA sees them, and the same program printed in two other
# ways, without % and with the operands' shapes.
CHILD = """
import json, sys
from jaxlib import _hlo
short, long = _hlo.HloPrintOptions(), _hlo.HloPrintOptions()
short.print_percent = False
long.print_operand_shape = True
for name, text in json.load(sys.stdin).items():
    print(json.dumps({"name": name}), flush=True)
    try:
        module = _hlo.hlo_module_from_text(text)
    except RuntimeError:
        continue
    seen = {}
    for computation in module.computations():
        lines = computation.instructions()
        place = {line.name: i for i, line in enumerate(lines)}
        seen[computation.name] = [
            (line.async_wrapped_root().opcode.name + "Start" if line.opcode.name == "kAsyncStart" else line.opcode.name,
             [place[operand.name] for operand in line.operands()]) for line in lines]
    texts = [module.to_string(options) for options in (short, long)]
    print(json.dumps({"name": name, "seen": seen, "texts": texts}), flush=True)
"""


@pytest.fixture(scope="module")
def read_by_xla() -> dict[str, dict]:
    """What XLA reads in each text, by name; a text that it cannot read is missing."""
    read, texts = {}, recordings()
    while texts:  # a new process for those that are left when one text has ended the last
        command = [sys.executable, "-c", CHILD]
        done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, timeout=300)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert answers and done.returncode <= 0, done.stderr  # an error of this test, no signal
        read |= {answer["name"]: answer for answer in answers if "seen" in answer}
        begun = {answer["name"] for answer in answers}
        texts = {name: text for name, text in texts.items() if name not in begun}
    return read


def in_our_words(opcode: str) -> str:
    """XLA's name for an operation: kAllReduce for all-reduce."""
    short = {"sine": "sin", "cosine": "cos", "exponential": "exp"}
    return "k" + "".join(word.capitalize() for word in short.get(opcode, opcode).split("-"))


def test_xla_reads_all_recordings_but_those_that_are_known(read_by_xla):
    assert set(recordings()) - set(read_by_xla) <= UNREADABLE


def test_operations_and_operands_are_those_that_xla_reads(read_by_xla):
    for program, answer in read_by_xla.items():
        for name, computation in parse(recordings()[program]).computations.items():
            place = {line: i for i, line in enumerate(computation)}
            theirs = answer["seen"][name]
            assert len(theirs) == len(computation), (program, name)
            for line, (opcode, operands) in zip(computation.values(), theirs, strict=True):
                # An asynchronous done is a kAsyncDone, whatever is done.
                done = opcode in ("kAsyncDone", "kAsyncUpdate") and line.opcode.endswith(("-done", "-update"))
                assert done or in_our_words(line.opcode) == opcode, (program, line.line)
                named = () if line.opcode in ("parameter", "constant") else line.operand_names
                assert [place[operand] for operand in named] == operands, (program, line.line)


def test_a_program_that_xla_prints_in_another_way_sends_the_same(read_by_xla):
    for name, answer in read_by_xla.items():
        for text in answer["texts"]:
            assert traffic.read(text) == traffic.read(recordings()[name]), name
