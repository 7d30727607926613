"""What may be said of a wrong value depends on what it means; and where numbers differ is told by structure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from near_cases import GRID, MESH, RNG, E, case, diagnosis, of_values, rows

from grader.exercise.spec import Recorder
from grader.judge.compare import difference
from grader.messages import Message
from grader.see.array_values import Array, Block
from grader.see.packing import pack


def test_of_an_id_nothing_is_too_large_or_too_often():
    for got, expected in [
        ([5, 4], [4, 3]),  # one too many
        ([8, 16], [1, 2]),  # as many times as there are devices
        ([13317, 13311], [7, 1]),  # too large by 1.331e+04
        ([[1, 2, 3], [4, 5, 6]], [[0, 1, 2], [3, 4, 5]]),
    ]:
        assert of_values(got, expected) is not None  # of a count it may be said
        said = of_values(got, expected, values="id")
        assert said is None or said.key.startswith("ids")


def test_of_one_small_number_no_ratio_is_told():
    """A 1 where 3 processes are counted is no mean, nor is a 1 or a 64 where there are 8 devices."""
    for got, expected in ((1, 8), (64, 8), (1, 3), (6, 3)):
        alike = [[case(got)] for _ in range(3)], [[case(expected)] for _ in range(3)]
        assert diagnosis(*alike, values="count") is None
        assert of_values([got], [expected], (MESH,)) is None
    assert of_values([100], [800], (MESH,), values="bytes") == Message("part-devices", {"n": 8})
    assert of_values([1, 2], [8, 16], (MESH,), values="count") == Message("part-devices", {"n": 8})


def test_of_a_row_it_is_not_said_what_holds_for_one_of_its_wrong_numbers_alone():
    wrong, right = [[5, 3, 2], [6, 4, 3]], [[3, 2, 1], [4, 3, 2]]
    assert of_values([[5], [6]], [[3], [4]], values="count") == Message("more", {"d": "2"})
    assert of_values(wrong, right, values="count") != Message("more", {"d": "2"})
    in_a_tuple = [("a", row) for row in wrong], [("a", row) for row in right]
    assert of_values(*in_a_tuple, values=("label", "count")) != Message("more", {"d": "2"})


def test_of_indices_that_come_several_times_the_order_is_all_there_is():
    for got, expected in (([0, 1, 2, 1, 2, 0], [0, 1, 2, 1, 0, 2]), ([0, 1, 2, 0], [1, 0, 0, 2])):
        said = of_values([[got]], [[expected]], values="index")
        assert said is None or said.key not in ("elements-order", "rows-order", "other-order")
    assert of_values([[0, 2, 1, 4, 3]], [[0, 1, 2, 3, 4]], values="index") == Message("elements-order")


def test_what_of_ids_is_missing_is_named():
    assert of_values([[1, 4]], [[1, 3, 5]], values="id") == Message("ids", {"missing": ("3", "5"), "extra": ("4",)})
    assert of_values([[1]], [[1, 3]], values="id") == Message("ids-missing", {"missing": ("3",), "extra": ()})
    assert of_values([{7: [2, 1]}], [{7: [1, 2]}], values="id") == Message("elements-order")


def test_each_part_of_a_value_has_its_meaning_and_one_that_there_is_not_is_refused(tmp_path):
    means = {"process": "id", "processes": "count"}
    right, wrong = {"process": 3, "processes": 8}, {"process": 4, "processes": 8}
    assert of_values([wrong], [right], values=means) == Message("one-part", {"parts": ("['process']",)})
    assert of_values([("a", 4), ("b", 5)], [("a", 3), ("b", 4)], values=("label", "index")) == Message("one-more")
    assert of_values([("a", 4), ("b", 5)], [("a", 3), ("b", 4)], values=("label", "id")) != Message("one-more")
    check = Recorder("ch90_one", "f", tmp_path)
    with pytest.raises(ValueError, match="'number' is none of"):
        check(lambda rng: [], values=("id", "number"))
    with pytest.raises(TypeError, match="no option 'meaning'"):
        check(lambda rng: [], meaning="id")


def test_bits_are_not_taken_for_devices():
    """8 times as many in each case, and only one of the meshes has 8 devices."""
    args = [(GRID,), (jax.make_mesh((4,), ("x",), devices=jax.devices()[:4]),)]
    mine, right = ([case(n, a) for n, a in zip(ns, args, strict=True)] for ns in ([800, 160], [100, 20]))
    assert diagnosis([mine], [right], values="bytes") == Message("times", {"c": "8"})


def test_parts_of_an_array_on_the_host_are_no_shards():
    """Both processes have all rows, in another order: no device has what its neighbour should have."""
    turned = np.roll(E, 8, axis=0)
    found = diagnosis([[case(turned)], [case(turned)]], [[case(E)], [case(E)]])
    assert found == Message("rolleds", {"axis": 0, "by": 8})


def test_a_mean_over_different_meshes_is_another_fraction_each_time():
    """Floats, too: half of it on two devices, a quarter on four."""
    assert of_values([1.25, 0.75], [2.5, 3.0]) == Message("fraction", {"n": 2})
    assert of_values([7.5, 6.0], [2.5, 3.0]) == Message("multiple", {"n": 3})
    assert of_values([1.25, 0.7], [2.5, 3.0]) is None
    # one zero is no array that was never filled
    assert of_values([jnp.int32(0)], [jnp.int32(5)]) is None
    assert of_values([[0.0]], [[4.5]]) is None
    assert of_values([np.zeros(4)], [np.ones(4)]) == Message("zeros")


def marked(right, *places, axis=0):
    """E with other numbers at these places of an axis."""
    other = np.array(right)
    for place in places:
        np.moveaxis(other, axis, 0)[place] = RNG.normal(size=np.moveaxis(other, axis, 0)[place].shape)
    return other


LONG = RNG.normal(size=(32, 5)).astype(np.float32)
PADDED = np.vstack([E, np.zeros((3, 5), np.float32)])
WHERE = {
    "both-ends": (marked(E, 0, 15), E),
    "edges": (marked(LONG, 3, 4, 7, 8, 20, 27), LONG),
    "edges-first": (marked(LONG, 4, 8, 12, 16, 20, 24, 28), LONG),
    "edges-last": (marked(LONG, *range(3, 32, 4)), LONG),
    "some-devices": (marked(E, *range(0, 4), *range(8, 12)), E),
    "some-devices-zeros": (np.vstack([E[:4], 0 * E[4:10], E[10:]]), E),
}


def test_where_numbers_differ_is_told_by_structure_and_the_devices_by_their_names():
    found = {key: of_values([rows(got)], [rows(expected)]) for key, (got, expected) in WHERE.items()}
    assert {key: said and said.key for key, said in found.items()} == {key: key for key in WHERE}
    assert found["some-devices"].values == {"wrong": (0, 1, 4, 5), "right": (2, 3, 6, 7)}


def test_padding_that_is_not_zero_is_called_padding():
    assert of_values([marked(PADDED, 17, 18)], [PADDED]) == Message("padding", {"axis": 0, "k": 3})
    assert of_values([np.vstack([E, E[-1:], E[-1:], E[-1:]])], [PADDED]) == Message("padding", {"axis": 0, "k": 3})


def test_a_process_whose_devices_are_wrong_is_named():
    """An array over two processes of four devices each, of which each sees its own half."""
    right, wrong = rows(E), rows(marked(E, *range(8)))

    def half(x, process):
        whole = pack(x)
        assert isinstance(whole, Array)
        numbers = np.asarray(x)
        held = [(d, b) for d, b in whole.where.items() if d // 4 == process]
        blocks = tuple(Block(b, pack(numbers[b[0][0] : b[0][1]]).blocks[0].base64) for _, b in held)  # type: ignore
        return Array(whole.dtype, whole.shape, True, False, True, blocks, None, whole.placement)

    mine, solution = ([[case()] for _ in range(2)] for _ in range(2))
    for process in range(2):
        for cases, x in ((mine, wrong), (solution, right)):
            cases[process] = [type(case())((), half(x, process))]
    found = diagnosis(mine, solution)
    assert found in (Message("one-process", {"process": 0}), Message("right-in", {"processes": (1,)}))


def test_what_is_shown_of_parts_and_of_numbers():
    right = dict.fromkeys("abcdefgh", 1)
    wrong = right | {key: 7 * n * n + 5 for n, key in enumerate("abcdefg")}
    named = of_values([wrong], [right]).values["parts"]
    assert named == ("['a']", "['b']", "['c']", "['d']", "…")  # nobody says that the others are right
    for got, expected, shown in ([True], [False], ("True", "False")), ([1.5], [2.0], ("1.5", "2")):
        found = difference(pack(np.array(got)), pack(np.array(expected)), 0.0)
        assert found and (found.at, found.numbers) == ("[0]", shown)
