"""A wrong answer that no known mistake explains gets the one sentence that is true of it, or none."""

import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P
from near_cases import DEVICES, GRID, MESH, RNG, E, of_values, rows

from grader.messages import Message
from grader.say.explain import near_words


def mixed(right, where):
    """E with other numbers, except where it is said to be right."""
    other = RNG.normal(size=right.shape).astype(np.float32)
    other[where] = right[where]
    return other


SAME_SHAPE = {
    "times-devices": E * 8,
    "part-devices": E / 8,
    "times": E * 0.3,
    "sign": -E,
    "reversed": E[::-1],
    "rolled": np.roll(E, 3, 0),
    "shifted": np.vstack([E[3:], E[:3] * 0]),
    "dealt": E.reshape(8, 2, 5).swapaxes(0, 1).reshape(16, 5),
    "blocks-order": E.reshape(4, 4, 5)[[1, 0, 2, 3]].reshape(16, 5),
    "rows-order": E[np.random.default_rng(0).permutation(16)],
    "other-order": np.random.default_rng(0).permutation(E.ravel()).reshape(16, 5),
    "combined": np.tile(E.reshape(8, 2, 5).sum(0), (8, 1)),
    "precision": E.astype(jnp.bfloat16).astype(np.float32),
    "not-finite": np.where(E > 1, np.nan, E + RNG.normal(size=E.shape)).astype(np.float32),
    "not-finite-only": np.where(E > 1, np.inf, E),
    "not-finite-all": E * np.nan,
    "only-one": mixed(E, slice(0, 2)),
    "all-but-one": mixed(E, [*range(6), *range(8, 16)]),
    "some-zeros": np.where(RNG.random(E.shape) < 0.9, 0, E).astype(np.float32),
    "function-missing": np.arctanh(E / 5).astype(np.float32),
    "function-extra": np.exp(E),
    "some": mixed(E, [0, 1, 2, 4, 5, 7, 8, 9, 11, 12, 14, 15]),
}
EXPECTED = {"function-missing": E / 5}
SHAPES = {
    "reshaped": (E.reshape(4, 20), E),
    "one-too-many": (E[:, None], E),
    "transposed": (E.T, E),
    "axes": (E.reshape(4, 4, 5).transpose(0, 2, 1), E.reshape(4, 4, 5)),
    "stack-sum": (E.reshape(8, 2, 5), E.reshape(8, 2, 5).sum(0)),
    "entry": (E[3], E),
    "other-order-shape": (np.random.default_rng(0).permutation(E.ravel()).reshape(20, 4), E),
    "flat": (RNG.normal(size=80).astype(np.float32), E),
    "dtype": (E.astype(np.float64), E),
}
DICT = {"w": 1.5, "b": 2.5, "c": 4.0}
KINDS = {
    "kind": ([1, 2], (1, 2)),
    "device-objects": (DEVICES[:3], [0, 1, 2]),
    "without-names": ((2.5, 4.0, 1.5), DICT),
    "missing": ({"w": 1.5, "b": 2.5}, DICT),
    "extra": (DICT | {"d": 1}, DICT),
    "missing-and-extra": ({"w": 1.5, "b": 2.5, "d": 4.0}, DICT),
    "names-swapped": ({"w": 2.5, "b": 1.5, "c": 4.0}, DICT),
    "one-of-right": (E, (E[:2], E)),
    "elements-order": ((E, E[:2]), (E[:2], E)),
    "elements-more": ([1, 7, 3, 9], [1, 3]),
    "one-part": ((E, E[:2] * RNG.uniform(1, 2, (2, 5)).astype(np.float32)), (E, E[:2])),
    "spelling": ("All_Gather", "all-gather"),
    "spec-ends": ((P("x"), 3), (P("x", None), 3)),
    "shapes": ({"w": RNG.normal(size=(2, 3)), "b": E[3:7, :1]}, {"w": E[:4], "b": E[:, 0]}),
    "other-kind": (0, [0]),
    "one-less": ([0, 1, 2], [1, 2, 3]),
}


def test_wrong_numbers_in_the_right_shape_another_shape_another_kind():
    numbers = [(key, rows(got), rows(EXPECTED.get(key, E))) for key, got in SAME_SHAPE.items()]
    others = [(key, *pair) for table in (SHAPES, KINDS) for key, pair in table.items()]
    found = [(key, of_values([got], [expected])) for key, got, expected in numbers + others]
    assert [(key, said) for key, said in found if not said or said.key != key] == []


def test_whole_numbers_are_compared_over_all_inputs():
    struct = ((8, 4), "float32", GRID)
    assert of_values([24, 40], [96, 160], struct) == Message("part-axis", {"axis": "y", "n": 4})
    assert of_values([30, 10], [15, 2]) == Message("multiple", {"n": 2})
    assert of_values([2, 2], [6, 10]) == Message("fraction", {"n": 3})
    assert of_values([1, 1], [6, 10]) is None  # every number is a multiple of 1
    assert of_values([24, 40], [3, 5], (MESH,)) == Message("times-devices", {"n": 8})
    assert of_values([24, 40], [3, 5], (GRID,)) == Message("times-devices", {"n": 8})
    assert of_values([800], [100], (MESH,)) == Message("times-devices", {"n": 8})
    assert of_values([12.5], [100.0], (E,)) == Message("part-devices", {"n": 8})
    assert of_values([24, 40], [3, 5], (16,)) == Message("times", {"c": "8"})  # no array: 8 devices of which machine?
    assert of_values([3, 6], [5, 10]) == Message("times", {"c": "0.6"})
    assert of_values([3, 7], [5, 9]) is None
    assert of_values([5, 9], [4, 8]) == Message("one-more")
    assert of_values([3, 6], [4, 7]) == Message("one-less")
    assert of_values([4, 9], [3, 10]) is None  # one more here, one less there
    assert of_values([2, 2], [3, 3]) is None  # by chance the number below: of something else, as likely
    assert of_values([4, 7], [4, 8]) == Message("some-cases", {"right": 1, "n": 2, "args": ()})
    assert of_values([9, 4], [3, 2]) == Message("function-missing", {"name": "sqrt"})
    assert of_values([np.inf, np.inf], [0.5, 0.25]) == Message("not-finite-all", {"kind": "inf"})


def test_a_few_values_more_or_less_and_zero_which_may_be_the_number_of_a_process():
    assert of_values([[2, 2, 0, 1, 1, 0]], [[0, 1, 2]]) is None
    assert of_values([[0, 2, 1, 1, 2]], [[0, 1, 2]]) == Message("elements-more", {"k": 2})
    assert of_values([[2, 0]], [[0, 1, 2]]) is None
    assert of_values([0, 0], [4, 3]) is None
    assert of_values([(0, 0), (0, 0)], [(4, 37), (1, 34)]) is None
    # another kind is named, and none is not
    assert of_values([(20, 6)], [480]) == Message("other-kind", {"got": "tuple", "expected": "int"})
    assert of_values([None], [480]) is None
    # a stack of one does not hide what the others are
    stacks = [np.stack([E, 2 * E]), E[None]]
    said = of_values(stacks, [3 * E, E])
    assert said and (said.key, said.values["axis"]) == ("stack-sum", 0)


def test_a_long_list_of_ids_is_cut():
    said = of_values([[7, *range(20_000)]], [[*range(7), -1]], values="id")
    assert said and said.key == "missing-and-extra" and len(near_words(said, "en")) < 200
    assert near_words(said, "en").endswith("… (19993).")


def test_what_every_call_gives_alike_was_kept_from_the_first():
    assert of_values([400, 400, 400], [400, 96, 160]) == Message("kept")
    assert of_values([[4, 2, 5]] * 3, [[4, 2, 5], [2, 6, 9], [1, 1, 0]]) == Message("kept")
    # small, too few, not first
    for got, right in ([4, 4, 4], [4, 8, 3]), ([400, 400], [400, 96]), ([96, 96, 96], [400, 96, 160]):
        assert of_values(got, right) != Message("kept")


def test_what_holds_for_every_input_comes_first():
    first, second = E[:8], E[8:]
    # of two numbers, twice and backwards are both true of the first input, only one of the second
    two = np.array([1.0, 2.0], np.float32), np.array([1.0, 3.0], np.float32)
    both = of_values([two[0][::-1], two[1][::-1]], list(two))
    assert both and both.key == "reversed"
    # and what holds for one alone is not said
    assert of_values([first * 3, mixed(second, [])], [first, second]) is None
    wide = E.astype(float)
    assert of_values([wide * 1.00004], [wide]) == Message("times", {"c": "1.00004"})  # not 1 times
    # a mean for a sum: one factor in each case, 1/16 here and 1/8 there, is not a factor of each part
    assert of_values([E / 16, E[:8] / 8], [E, E[:8]]) == Message("times", {"c": "1/16"})


def test_an_argument_explains_it():
    before, step, bias = (RNG.normal(size=s).astype(np.float32) for s in ((4, 5), (4, 5), (5,)))
    right, given = before - 0.25 * step, (3.5, {"b": bias, "w": jnp.asarray(before)})

    def of(got):
        return of_values([got], [right], given)

    where = {"n": 1, "path": "['w']"}
    assert of(before) == Message("argument", where)
    assert of(before + 0.25 * step) == of(before + 2 * step) == Message("change-back", where)
    assert of(before - 2 * step) == Message("change-times", where | {"c": "8"})
    rounded = of(before - 0.2501 * step)  # as if in a narrower dtype: 1.0004 times, which is no factor to be told
    assert rounded is None or rounded.key != "change-times"
    small = of_values([before[0, :2] - step[0, :2]], [before[0, :2] + step[0, :2]], (before[0, :2],))
    assert small == Message("change-back", {"n": 0, "path": ""})
    assert of(right - bias) == Message("term-missing", {"n": 1, "path": "['b']"})
    assert of(right + bias) == Message("term-added", {"n": 1, "path": "['b']"})


def test_an_unrelated_answer_gets_no_sentence():
    """Random numbers of many shapes and kinds: only what is true of chance would be said."""
    rng = np.random.default_rng(11)
    shapes = [(1,), (2,), (3,), (7,), (16,), (3, 5), (5, 5), (16, 5), (8, 2, 5), (4, 3, 2, 2), (1, 9)]
    said = []
    for n in range(200):
        shape, other = shapes[n % len(shapes)], shapes[(n * 7 + 3) % len(shapes)]
        draw = (lambda s: rng.normal(size=s)) if n % 2 else (lambda s: rng.integers(0, 10**6, s))
        for got, expected in (
            ([draw(shape), draw(shape)], [draw(shape), draw(shape)]),
            (rng.normal(size=2).tolist(), rng.normal(size=2).tolist()),
            (rng.integers(10**3, 10**6, 2).tolist(), rng.integers(10**3, 10**6, 2).tolist()),
            ([draw((*other[:-1], other[-1] + 3))], [draw(other)]),
        ):
            said += [(shape, other, found)] if (found := of_values(got, expected)) else []
    assert said == []
