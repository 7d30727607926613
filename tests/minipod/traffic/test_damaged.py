"""Text of programs that is damaged, or of a compiler not seen before: read, or refused in one sentence."""

import re
from random import Random

import pytest
from recorded_programs import RECORDED

from minipod import traffic
from minipod.hlo import hiding, overlap, work
from minipod.hlo.text import parse

# What is said of a text as a whole; everything else quotes the line that is not understood.
WHOLE = (
    "this is not the whole text of a compiled program",
    "this program is lowered but not compiled",
    "the computations of this program are nested ",
    "the mesh ",
    "a loop around this ",
)


DOORS = {
    "bill": lambda program: (str(traffic.table(collectives := traffic.read(program))), traffic.total(collectives)),
    "hiding": lambda program: hiding.exposed(parse(program)),
    "work": lambda program: work.work(parse(program)),
    "overlap": lambda program: overlap.overlaps(parse(program)),
}
TOKEN = re.compile(r"%?[\w.-]+|[^\w\s]")


def damaged(text: str, random: Random) -> str:
    """`text` with one or two things in it changed, as a compiler not seen before or a bad copy might have it."""
    for _ in range(random.choice((1, 1, 2))):
        lines = text.splitlines()
        i, j = (random.randrange(len(lines)) for _ in range(2))
        one, other = (random.choice(list(TOKEN.finditer(text))) for _ in range(2))
        match random.randrange(6):
            case 0:  # a line is missing
                del lines[i]
            case 1:  # two lines have changed places
                lines[i], lines[j] = lines[j], lines[i]
            case 2:  # the end of a line is missing
                lines[i] = lines[i][: random.randrange(len(lines[i]) + 1)]
            case 3:  # a word is missing
                lines = (text[: one.start()] + text[one.end() :]).splitlines()
            case 4:  # a word is another
                lines = (text[: one.start()] + other[0] + text[one.end() :]).splitlines()
            case 5:  # a number is another
                n = random.choice(list(re.finditer(r"\d+", text)))
                number = random.choice(("0", "1", "3", "7", "64", "1000000", "-1", "x"))
                lines = (text[: n.start()] + number + text[n.end() :]).splitlines()
        text = "\n".join(lines) + "\n" if lines else "\n"
    return text


@pytest.mark.parametrize(("count", "seed"), [(1, 1), *(pytest.param(9, s, marks=pytest.mark.long) for s in (100, 101))])
def test_damaged_text_is_read_or_refused_in_one_sentence(count, seed):
    """9 of each are 2,500 damaged texts."""
    random, refused = Random(seed), dict.fromkeys(DOORS, 0)
    for name, whole in RECORDED.items():
        for turn in range(count):
            program = damaged(whole, random)
            lines = [line if len(line) <= 300 else f"{line[:299]}…" for line in map(str.strip, program.splitlines())]
            for door, ask in DOORS.items():
                try:  # whatever else is raised fails the test
                    ask(program)
                except ValueError as reason:
                    said, where = str(reason), (name, turn, door, str(reason))
                    refused[door] += 1
                    assert "\n" not in said, where
                    assert said.startswith(WHOLE) or any(said.endswith(f": {line}") for line in lines), where
    assert min(refused.values()) > 10 * count


def test_a_text_that_is_cut_off_is_refused():
    for name, whole in RECORDED.items():
        chance = Random(name)
        lines = whole.rstrip().splitlines(keepends=True)
        for cut in chance.sample(range(len(lines)), min(3, len(lines) - 1)):
            for part in lines[:cut], lines[cut + 1 :]:
                with pytest.raises(ValueError, match="not the whole text of a compiled program"):
                    traffic.read("".join(part))
        for _ in range(3):
            with pytest.raises(ValueError, match='not the whole text|a bracket is never closed|is not "name ='):
                traffic.read(whole[: chance.randrange(len(whole.rstrip()))])
