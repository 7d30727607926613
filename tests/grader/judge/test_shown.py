"""What is shown of a wrong answer is true, and tells the two apart."""

from pathlib import Path

import jax
import numpy as np
import pytest
from near_cases import DEVICES, E, case, explained, judged, rows

from grader.say import shown
from grader.say.errors import abridged
from grader.see.observation import Failure, Observation
from grader.see.observe import failure_of
from grader.see.packing import pack


def lines(got, expected, lang="en", args=((),) * 9, near=None):
    """What a learner reads of values, one for each case."""
    mine, right = ([case(v, given) for v, given in zip(values, args, strict=False)] for values in (got, expected))
    return explained(judged(mine, right, near, compare=("value", "placement")), lang)


def test_none_is_no_missing_return_where_it_may_be_the_answer():
    assert lines([None, 2], [1, 2])[0].startswith("None is not right here: does every path")
    assert lines([None, None], [1, None])[0] == "None is right for some inputs, but not for these."
    assert lines([1, 2], [1, None])[0] == "None is expected here."
    assert lines([None, None], [1, None], "zh-Hans")[0] == "对有些输入，答案是 None，但对这组输入不是。"


def beside(got, expected):
    """What is shown of both."""
    said = [line.split(maxsplit=1) for line in lines([got], [expected])]
    words = {line[0]: line[1] for line in said if len(line) > 1}
    return words["got"], words["expected"]


def test_what_came_back_and_what_was_expected_are_never_the_same_line():
    far = np.arange(4000.0).reshape(40, 100)
    other = far.copy()
    other[30, 50] = 7
    mesh = lambda devices: jax.sharding.Mesh(np.array(devices), ("x",))  # noqa: E731
    shown_of = [
        beside(got, expected)
        for got, expected in (
            (other, far),
            (rows(E, mesh(DEVICES[::-1])), rows(E)),
            (jax.device_put(E, DEVICES[3]), jax.device_put(E, DEVICES[0])),
            ("a" * 300 + "b" + "c" * 300, "a" * 300 + "d" + "c" * 300),
            ([1, 2.0], [1, 2]),
            (mesh(DEVICES[:2]), mesh(DEVICES[1:3])),
            (np.float32([1, 15360.5]), np.float32([1, 15361])),
            (np.array(15360.5), np.array(15361.0)),
        )
    ]
    assert all(mine != right for mine, right in shown_of)
    assert [pair[0].partition(",")[0] for pair in shown_of[-2:]] == ["f32[2] [1] = 15360.5", "f64[] = 15360.5"]
    numbers, placed, single = shown_of[:3]  # where they differ, and which devices
    assert "[30, 48:53] = [3048 3049 7 3051 3052]" in numbers[0]
    assert "[30, 48:53] = [3048 3049 3050 3051 3052]" in numbers[1]
    assert "device 0 holds [14:16, 0:5]" in placed[0] and "device 0 holds [0:2, 0:5]" in placed[1]
    assert "on device 3" in single[0]


def test_numbers_that_differ_never_look_the_same():
    assert lines([np.array([1000000, 5])], [np.array([1000001, 5])])[0] == (
        "The shape is right, but not all values are: 1000000 instead of 1000001 at [0]."
    )
    near = np.array([0.5, 0.30001])
    assert "f64[2] [1] = 0.30001," in beside(near, np.array([0.5, 0.3]))[0]
    assert beside(jax.numpy.float32(0.30001), jax.numpy.float32(0.3))[1].startswith("f32[] = 0.3,")
    assert "'b'" in beside(np.array(["a", "b"]), np.array(["a", "c"]))[0]


def test_a_dict_is_shown_in_its_own_order_and_compared_by_its_keys():
    assert shown.show(pack({"b": 1, "a": 2}), "en") == "{'b': 1, 'a': 2}"
    assert lines([{"b": 1, "a": 2}], [{"a": 2, "b": 1}]) == []
    said = lines([{"b": 1, "a": 2, "c": 3}], [{"a": 2, "b": 1}])
    assert said[-2:] == ["got       {'b': 1, 'a': 2, 'c': 3}", "expected  {'a': 2, 'b': 1}"]


def test_the_smallest_of_the_wrong_cases_is_shown_and_an_odd_error_is_not():
    given = [(list(range(90)),), ([],), ([4, 5, 6],)]
    right = [case(n, args) for n, args in zip((90, 0, 3), given, strict=True)]
    mine = [case(1, given[0]), Observation(right[1].args, failure=Failure("IndexError", "empty")), case(2, given[2])]
    verdict = judged(mine, right)
    assert (verdict.case, verdict.reason) == (2, "differs")


def test_beside_a_call_that_is_wrong_stands_the_smallest_that_is_right():
    said = lines([5, 7, 2], [5, 7, 4], args=[([1, 2, 3],), ([1, 2],), ([1, 2, 3, 4],)], near=Path())
    assert said[0].startswith("The result is right for 2 of the 3 inputs tried")
    assert said[-1] == "right on  f([1, 2])"
    assert not any(line.startswith("right on") for line in lines([9, 9], [5, 7], args=[([1],), ([2],)], near=Path()))


def test_every_argument_has_its_share_of_the_line():
    said = shown.call("f", [pack([{"id": n, "name": "x" * 20} for n in range(30)]), pack(7), pack("last")], "en")
    assert len(said) < 300 and said.startswith("f([{'id': 0, ") and said.endswith("}], 7, 'last')")
    small = shown.call("f", [pack(np.float32([[1, 2.5], [3, 4]])), pack(E)], "en")
    assert small == "f(f32[2, 2] = [[1 2.5] [3 4]], f32[16, 5])"


@pytest.mark.parametrize(
    ("f", "decides"),
    [
        (lambda v: v.sum(), "which has rank 0"),
        (lambda v: jax.lax.scan(lambda c, _: ((c[0], 1), None), (0.0, 1.0), v), "[1] has type float32[]"),
    ],
)
def test_the_line_of_an_error_that_decides_is_not_cut_off(f, decides):
    x = rows(np.arange(16.0, dtype=np.float32))
    mesh, spec = x.sharding.mesh, jax.sharding.PartitionSpec("x")
    with pytest.raises(Exception) as raised:  # noqa: PT011
        jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)(x)
    seen = failure_of(raised.value, Path(__file__))
    said = abridged(seen.text, seen.more)
    assert decides in said and "Revise" not in said and len(said.splitlines()) <= 5


def test_a_line_that_raises_in_a_comprehension_is_shown_once():
    """Before Python 3.12 a comprehension has a frame of its own, on the same line."""
    own = ((3, "    return [1 // n for n in sizes]"),)
    failure = Failure("ZeroDivisionError", "division by zero", code=own * 2)
    said = explained(judged([Observation((), None, failure=failure)], [case(1)]))
    assert sum("return [1 // n for n in sizes]" in line for line in said) == 1


def test_a_layout_is_shown_as_its_indices_are_written():
    picture = {d: (slice(4 * d.id, 4 * d.id + 4), slice(None)) for d in DEVICES[:2]}
    assert shown.show(pack(picture), "en") == "{CpuDevice(id=0): [0:4, :], CpuDevice(id=1): [4:8, :]}"
    assert shown.show(pack((slice(0, 8, 2),)), "en") == "[0:8:2]"
    assert shown.show(pack([slice(3, 5)]), "en") == "[slice(3, 5)]"
    assert shown.show(pack(()), "en") == "()"
