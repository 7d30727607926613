"""The file that is made of an answer's cell and of what it uses of others."""

import codeop

import pytest

from grader.notebook.cells import NotRun, Unseen, gather


class Kernel:
    """What IPython keeps: the cells that were run, and their names."""

    def __init__(self, *cells):
        self.history, self.names, self.compile = [""], {}, codeop.Compile()  # keeps `from __future__`, as IPython does
        for cell in cells:
            self.run(cell)

    def run(self, cell):
        self.history.append(cell)
        try:
            exec(self.compile(cell, "cell", "exec"), self.names)
        except Exception:
            pass
        return self

    def gather(self, name, shown=""):
        return gather(name, self.history, self.names, shown)


def value(file, name, *args):
    """What the file's function gives, run alone."""
    names = {}
    exec(compile(file.text, "answers", "exec"), names)
    return names[name](*args)


def test_it_takes_what_the_answer_uses_and_nothing_else():
    kernel = Kernel(
        "import math, json\nimport os.path",
        "print('a demo')\nbig = [0] * 5",
        "FACTOR = 3\ndef helper(n):\n    return inner(n) * FACTOR",
        "def inner(n):\n    big = math.floor(n)\n    return big",
        "def answer(n):\n    return helper(n) + 1",
    )
    file = kernel.gather("answer")
    assert value(file, "answer", 2.5) == 7
    kernel = Kernel("x = open('nowhere')", "def answer(x):\n    return [x for x in x]", "def answer(:")
    assert "open" not in kernel.gather("answer").text  # names inside the function are its own
    assert "big =" not in file.text.split("def")[0] and "demo" not in file.text and "os.path" not in file.text


def test_what_ran_last_counts_and_values_are_those_of_now():
    kernel = Kernel("def answer():\n    return 1", "def answer():\n    return 2")
    assert value(kernel.gather("answer"), "answer") == 2
    kernel.run("def answer():\n    return 1")
    assert value(kernel.gather("answer"), "answer") == 1
    # plain values are those of now
    kernel = Kernel("table = {}", "for k in range(3):\n    table[k] = k * k", "n = 1", "n += 4")
    kernel.run("def answer():\n    return table, n")
    assert value(kernel.gather("answer"), "answer") == ({0: 0, 1: 1, 2: 4}, 5)
    # other values come from their assignment and what that needs
    kernel = Kernel("from fractions import Fraction\ndef half(n):\n    return Fraction(n, 2)", "h = half(3)")
    kernel.run("def half(n):\n    return Fraction(n, 2)").run("def answer(n=h):\n    return n + h")
    assert value(kernel.gather("answer"), "answer") == 3


@pytest.mark.parametrize(
    "cells",
    [
        ["from math import *", "def answer():\n    return floor(2.5)"],
        ["import math", "class Two:\n    n = math.floor(2.5)", "def answer():\n    return Two().n"],
        [
            "try:\n    from nowhere import two\nexcept ImportError:\n    def two(): return 2",
            "def answer(): return two()",
        ],
        ["import functools", "@functools.cache\ndef answer():\n    return 2"],
        ["answer = lambda: 2"],
        ["a = 1; answer = lambda: a + 1"],
        ["def answer(n=2):\n    return n if n < 3 else answer(n - 1)"],
        ["def even(n): return n == 0 or odd(n - 1)", "def odd(n): return n > 0 and even(n - 1)"]
        + ["def answer(): return 2 * even(4)"],
        ["from __future__ import annotations", "import math", "def answer(n: Nowhere = 2):\n    return n"],
        ["import xml", "import xml.dom.minidom", "def answer():\n    return 2 * bool(xml.dom.minidom.parseString)"],
    ],
)
def test_what_a_cell_can_say_a_file_can(cells):
    assert value(Kernel(*cells).gather("answer"), "answer") == 2


def test_each_line_knows_its_cell():
    file = Kernel("import math", "two = 2", "# a remark\n\ndef answer():\n    return math.pi * two").gather("answer")
    assert file.text.split("\n")[:-1] == ["import math", "two = 2", "def answer():", "    return math.pi * two"]
    assert file.origin == [(1, 1), None, (3, 3), (3, 4)]


def test_an_answer_whose_cell_did_not_run_is_none():
    with pytest.raises(NotRun):
        Kernel("def other(): pass").gather("answer")
    with pytest.raises(NotRun):
        Kernel("def answer(): pass", "del answer").gather("answer")
    # nor is the page's own function
    cell = "def answer():\n    return 1"
    with pytest.raises(NotRun):
        Kernel(cell).gather("answer", shown=f"# %% cell\n{cell}\n")
    assert value(Kernel(cell, "def answer():\n    return 2").gather("answer", shown=cell), "answer") == 2


@pytest.mark.parametrize(
    "cells, name",
    [
        (["exec('def answer(): pass')"], "answer"),
        (["exec('hidden = object()')", "def answer(): return hidden"], "hidden"),
        (["for handle in [object()]: pass", "def answer(): return handle"], "handle"),
    ],
)
def test_what_cannot_be_made_again_is_named(cells, name):
    with pytest.raises(Unseen) as caught:
        Kernel(*cells).gather("answer")
    assert caught.value.name == name
