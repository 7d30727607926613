"""What the inputs share on which an answer is wrong: found where it parts them, and not said where it does not."""

import itertools

import numpy as np
import pytest
from near_cases import GRID

from grader.judge import traits
from grader.messages import MESSAGES as WORDS
from grader.messages import Message, _pieces
from grader.say.explain import near_words
from grader.see.packing import pack

SIZES = [(rows, devices) for rows in (4, 6, 8, 9, 12, 15) for devices in (2, 4, 5)]


def of(inputs, is_wrong, names=("a", "b")):
    """The message for an answer that is wrong where `is_wrong` says so."""
    packed = [(tuple(map(pack, args)), is_wrong(*args)) for args in inputs]
    sides = [[args for args, wrong in packed if wrong is side] for side in (True, False)]
    return traits.common(names, *sides)


def key(message):
    said = message.values["trait"]
    return message.key, said.key.removeprefix("trait-"), tuple(said.values.values())


def test_sizes_that_divide_are_told():
    assert key(of(SIZES, lambda rows, n: rows % n != 0)) == ("trait", "no-multiple", ("a", "b"))
    assert key(of(SIZES, lambda rows, n: rows % n == 0)) == ("trait", "multiple", ("a", "b"))
    assert key(of(SIZES, lambda rows, n: rows % 2 == 1)) == ("trait", "odd", ("a",))
    assert of(SIZES, lambda rows, n: n < rows < 2 * n) is None


def test_two_sizes_need_more_inputs_and_two_dimensions_of_one_array_say_nothing():
    few = [(4, 2), (6, 4), (9, 4), (8, 2)]
    shaped = [(np.full(4, i), 2 * (i % 2) + 3) for i in range(12)]  # many contents, two pairs of sizes
    assert of(few, lambda rows, n: rows % n != 0) is of(shaped, lambda x, n: n == 5) is None
    odd = [(np.full(size, i),) for size in (3, 4, 6) for i in range(4)]  # three sizes
    assert of(odd, lambda x: len(x) == 3, ("x",)) is None
    more = [*few, (12, 3), (7, 3), (11, 3)]
    assert key(of(more, lambda rows, n: rows % n != 0)) == ("trait", "no-multiple", ("a", "b"))
    arrays = [(np.zeros(size),) for size in more]
    assert of(arrays, lambda x: x.shape[0] % x.shape[1] != 0, ("x",)) is None


LISTS = [[1, 2, 3], [3, 1, 2], [2, 2, 5], [], [-1, 4], [0, 0], [7], [5, 9, 1], [4, 4], [-3, -5], [-2, 6]]


@pytest.mark.parametrize("made", [list, lambda x: np.array(x, np.int32)])
def test_what_a_list_holds_is_told(made):
    inputs = [(made(x),) for x in LISTS]
    assert of(inputs, lambda x: len(set(list(x))) < len(x), ("x",)).values["trait"].key == "trait-twice"
    assert of(inputs, lambda x: sorted(x) != list(x), ("x",)).values["trait"].key == "trait-falls"
    assert of(inputs, lambda x: any(n < 0 for n in x), ("x",)).values["trait"].key == "trait-negatives"
    assert of(inputs, lambda x: len(x) < 2, ("x",)) is None


def test_a_beginning_and_unequal_lengths_are_told_apart():
    lists = [[1, 2], [1, 2, 3], [4], [1, 9, 3], [4, 5, 6], [7, 7], [7]]
    inputs = [(list(pair),) for pair in itertools.combinations(lists, 2)]
    prefix = of(inputs, lambda x: any(a == b[: len(a)] for a, b in (x, x[::-1]) if a != b), ("x",))
    lengths = of(inputs, lambda x: len(x[0]) != len(x[1]), ("x",))
    assert [key(said)[1] for said in (prefix, lengths)] == ["prefix", "lengths"]


def test_what_all_wrong_inputs_share_is_said_with_how_many_others_have_it():
    inputs = [(way, n) for way in ("ring", "whole", "heads") for n in (2, 3, 4, 5)]
    said = of(inputs, lambda way, n: way == "ring" and n > 2, ("way", "n"))
    assert key(said) == ("trait-among", "text", ("way", "ring"))
    assert near_words(said, "en") == (
        "Of 12 inputs tried it is wrong on 3. In each of these, `way` is `'ring'`; that is so in 4 of the 12."
    )


def test_with_few_different_inputs_on_a_side_nothing_is_said():
    inputs = [(4, 2), (6, 2), (8, 2), (9, 2), (11, 2)]
    assert of(inputs, lambda a, b: a % 2 == 1) is None
    assert of([*inputs, (9, 2), (9, 2)], lambda a, b: a % 2 == 1) is None
    assert of([*inputs, (13, 2)], lambda a, b: a % 2 == 1) is not None
    assert of([*inputs, (13, 2)], lambda a, b: True) is None
    # a size within a dict and of a mesh has the name that code gives it
    sizes = traits.traits({"m": pack(GRID), "c": pack({"w": 3, "l": [1, 2]})})
    assert sizes["no-multiple", ('m.shape["x"]', 'c["w"]')] and sizes["several", ('len(c["l"])',)]


def test_every_trait_has_words_in_both_languages():
    values = [3, 0.5, True, "x", None, [1, 2], [[1], [1, 2]], np.zeros((2, 3)), {"k": 1}, (4, 5)]
    said = {kind for kind, _ in traits.traits({f"a{i}": pack(x) for i, x in enumerate(values)})}
    said |= {"joint", "uncut"}
    assert {f"near-trait-{kind}" for kind in said} == {k for k in _pieces(WORDS) if k.startswith("near-trait-")} - {
        "near-trait-among"
    }
    for kind in said:
        for lang in ("en", "zh-Hans", "zh-Hant"):
            assert "`n`" in near_words(Message(f"trait-{kind}", {"a": "n", "b": "m"}), lang)
