"""constraints.txt: the newest JAX that minipod has been tried with, and every package that a distribution asks for."""

import re
import tomllib

from projects import ROOT

from grader import home
from minipod import distribution

CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8")
FILES = (ROOT / "pyproject.toml", ROOT / "minipod/pyproject.toml")
BOTH = [tomllib.loads(file.read_text("utf-8"))["project"] for file in FILES]


def test_the_newest_jax_and_the_minipod_beside_the_book_are_those_that_are_pinned():
    pinned = re.findall(r"^jax==([\d.]+)", CONSTRAINTS, re.M)
    assert max(map(distribution.numbers, pinned)) == distribution.NEWEST_JAX
    book, project = BOTH
    assert f"minipod=={project['version']}" in book["dependencies"]


def test_every_package_that_is_asked_for_is_pinned():
    asked = []
    for project in BOTH:
        extras = project["optional-dependencies"].items()
        asked += project["dependencies"]
        asked += [line for extra, lines in extras if extra not in ("neighbours", "libraries") for line in lines]

    def named(lines: list[str]) -> set[str]:
        return {re.split(r"[^\w.-]", line)[0].replace("_", "-").lower() for line in lines}

    assert named(asked) - named(CONSTRAINTS.splitlines()) == {distribution.NAME, home.BOOK}
