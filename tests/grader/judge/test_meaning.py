"""What may be said of a wrong value depends on what it means; and where numbers differ is told by structure."""

import jax
import numpy as np
import pytest
from near_cases import GRID, MESH, RNG, E, case, diagnosis, of_values, rows

from grader.exercise.spec import Recorder
from grader.judge.compare import difference
from grader.messages import Message
from grader.see.packing import pack


def test_of_an_id_nothing_is_too_large_or_too_often():
    for got, expected in [
        ([5, 4], [4, 3]),  # one too many
        ([8, 16], [1, 2]),  # as many times as there are devices
        ([[1, 2, 3], [4, 5, 6]], [[0, 1, 2], [3, 4, 5]]),
    ]:
        assert of_values(got, expected) is not None  # of a count it may be said
        said = of_values(got, expected, values="id")
        assert said is None or said.key in ("missing", "extra", "missing-and-extra")


def test_of_one_small_number_no_ratio_is_told():
    """A 1 where 3 processes are counted is no mean, nor is a 1 or a 64 where there are 8 devices."""
    for got, expected in ((1, 8), (64, 8), (1, 3), (6, 3)):
        alike = [[case(got)] for _ in range(3)], [[case(expected)] for _ in range(3)]
        assert diagnosis(*alike, values="count") is None
        assert of_values([got], [expected], (MESH,)) is None
    assert of_values([100], [800], (MESH,), values="bytes") == Message("part-devices", {"n": 8})
    assert of_values([1, 2], [8, 16], (MESH,), values="count") == Message("part-devices", {"n": 8})


def test_of_a_row_it_is_not_said_what_holds_for_one_of_its_wrong_numbers_alone():
    wrong, right = [[5, 2, 2], [6, 3, 3]], [[4, 4, 2], [5, 5, 3]]
    assert of_values([[5], [6]], [[4], [5]], values="count") == Message("one-more")
    assert of_values(wrong, right, values="count") != Message("one-more")
    in_a_tuple = [("a", row) for row in wrong], [("a", row) for row in right]
    assert of_values(*in_a_tuple, values=("label", "count")) != Message("one-more")


def test_of_indices_that_come_several_times_the_order_is_all_there_is():
    for got, expected in (([0, 1, 2, 1, 2, 0], [0, 1, 2, 1, 0, 2]), ([0, 1, 2, 0], [1, 0, 0, 2])):
        said = of_values([[got]], [[expected]], values="index")
        assert said is None or said.key not in ("elements-order", "rows-order", "other-order")
    assert of_values([[0, 2, 1, 4, 3]], [[0, 1, 2, 3, 4]], values="index") == Message("elements-order")


def test_what_of_ids_is_missing_is_named():
    both = Message("missing-and-extra", {"missing": ("3", "5"), "extra": ("4",)})
    assert of_values([[1, 4]], [[1, 3, 5]], values="id") == both
    assert of_values([[1]], [[1, 3]], values="id") == Message("missing", {"missing": ("3",)})
    assert of_values([{7: [2, 1]}], [{7: [1, 2]}], values="id") == Message("elements-order")


def test_each_part_of_a_value_has_its_meaning_and_one_that_there_is_not_is_refused(tmp_path):
    means = {"process": "id", "processes": "count"}
    right, wrong = {"process": 3, "processes": 8}, {"process": 4, "processes": 8}
    assert of_values([wrong], [right], values=means) == Message("one-part", {"parts": ("['process']",)})
    assert of_values([("a", 4), ("b", 5)], [("a", 3), ("b", 4)], values=("label", "index")) == Message("one-more")
    assert of_values([("a", 4), ("b", 5)], [("a", 3), ("b", 4)], values=("label", "id")) != Message("one-more")
    check = Recorder("ch90_one", "f", tmp_path)
    with pytest.raises(ValueError, match="'number' is not one of"):
        check(lambda rng: [], values=("id", "number"))
    with pytest.raises(TypeError, match="no option 'meaning'"):
        check(lambda rng: [], meaning="id")


def test_bits_are_not_taken_for_devices_and_a_mean_over_different_meshes_is_another_fraction_each_time():
    # 8 times as many in each case, and only one of the meshes has 8 devices
    args = [(GRID,), (jax.make_mesh((4,), ("x",), devices=jax.devices()[:4]),)]
    mine, right = ([case(n, a) for n, a in zip(ns, args, strict=True)] for ns in ([800, 160], [100, 20]))
    assert diagnosis([mine], [right], values="bytes") == Message("times", {"c": "8"})
    # floats, too: half of it on two devices, a quarter on four
    assert of_values([1.25, 0.75], [2.5, 3.0]) == Message("fraction", {"n": 2})
    assert of_values([7.5, 6.0], [2.5, 3.0]) == Message("multiple", {"n": 3})
    assert of_values([1.25, 0.7], [2.5, 3.0]) is None


def marked(right, places):
    """The same with other numbers in these rows."""
    other = np.array(right)
    other[places] = RNG.normal(size=other[places].shape)
    return other


def test_devices_whose_parts_are_wrong_and_padding_that_is_not_zero_are_named():
    found = of_values([rows(marked(E, [0, 1, 2, 3, 8, 9, 10, 11]))], [rows(E)])
    assert found == Message("some-devices", {"wrong": (0, 1, 4, 5), "right": (2, 3, 6, 7)})
    padded = np.vstack([E, np.zeros((3, 5), np.float32)])
    for wrong in (marked(padded, [17, 18]), np.vstack([E, E[-1:], E[-1:], E[-1:]])):
        assert of_values([wrong], [padded]) == Message("padding", {"axis": 0, "k": 3})


def test_what_is_shown_of_parts_and_of_numbers():
    right = dict.fromkeys("abcdefgh", 1)
    wrong = right | {key: 7 * n * n + 5 for n, key in enumerate("abcdefg")}
    named = of_values([wrong], [right]).values["parts"]
    assert named == ("['a']", "['b']", "['c']", "['d']", "…")  # nobody says that the others are right
    for got, expected, shown in ([True], [False], ("True", "False")), ([1.5], [2.0], ("1.5", "2")):
        found = difference(pack(np.array(got)), pack(np.array(expected)), 0.0)
        assert found and (found.at, found.numbers) == ("[0]", shown)
