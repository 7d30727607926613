"""Right values in the wrong place, printed or sent otherwise, in several processes; and near misses from end to end."""

import re
from dataclasses import replace

import jax
import numpy as np
from checker_runs import answer, check, lesson, project
from near_cases import DEVICES, GRID, E, case, diagnosis, of_values, rows, spec_of

from grader.exercise.spec import Budget
from grader.judge.near_misses import near_miss, per_process, placements, trees
from grader.judge.verdict import Verdict
from grader.messages import MESSAGES, Message, read_texts
from grader.say.explain import near_words
from grader.see.array_values import Array, Block, Placement
from grader.see.observation import Failure, Observation, Traffic, Transfer
from grader.see.values import Float, Nothing

PLACES = {
    "host-copy": (E, rows(E)),
    "all-on-one": (jax.device_put(E, DEVICES[3]), rows(E)),
    "on-another": (jax.device_put(E, DEVICES[3]), jax.device_put(E, DEVICES[0])),
    "not-on-one": (rows(E), jax.device_put(E, DEVICES[0])),
    "copies-not-split": (rows(E, spec=()), rows(E)),
    "split-not-copies": (rows(E), rows(E, spec=())),
    "device-order": (rows(E, jax.sharding.Mesh(np.array(DEVICES[::-1]), ("x",))), rows(E)),
    "split-along": (rows(E[:, :4], GRID, (None, "y")), rows(E[:, :4], GRID, ("y",))),
    "fewer-pieces": (rows(E, GRID, ("x",)), rows(E, GRID, (("x", "y"),))),
    "more-pieces": (rows(E, GRID, (("x", "y"),)), rows(E, GRID, ("y",))),
}
PRINTED = {
    ("mean 3.2512\n", "mean 3.25\n"): "printed-digits",
    ("loss 1.24e-05\n", "loss: 1.2e-05\n"): "printed-digits",
    ("mean 4.7500\n", "mean 3.2500\n"): "printed-numbers",
    ("3 devices\n", "4 devices\n"): "printed-numbers",
    ("loss 1e-05\n", "loss 3e-05\n"): "printed-numbers",
    ("hello\n", ""): None,
}


def test_right_values_in_the_wrong_place_and_what_is_printed():
    for key, (got, expected) in PLACES.items():
        found = of_values([got], [expected], compare=("value", "placement"))
        assert found and found.key == key
    got, expected = (rows(E[:, :4], GRID, spec) for spec in ((("x", "y"),), ("x", "y")))
    assert of_values([got], [expected], compare=("value", "placement")) is None  # as many blocks, of a different shape
    for (got, expected), key in PRINTED.items():
        found = diagnosis([[case(printed=got)]], [[case(printed=expected)]], compare=("value", "printed"))
        assert (found.key if found else None) == key


BUDGETS = {  # the answer's bill, the solution's, the collectives and bytes that are allowed
    None: ([("all-gather", 64, 1)], [], set(), 0),
    "budget-gather": ([("all-gather", 64, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4),
    "budget-op-fits": ([("all-to-all", 4, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4),
    "budget-op": ([("all-reduce", 4, 1), ("all-to-all", 64, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4),
    "budget-more": ([("all-reduce", 4, 1)] * 3, [("all-reduce", 4, 1)] * 2, {"all-reduce"}, 8),
    "budget-bytes": ([("all-reduce", 6, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4),
    "budget-times": ([("all-reduce", 16, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4),
}


def of_bills(bill, solution, ops, most):
    def sends(transfers):
        traffic = Traffic(tuple(Transfer(*t) for t in transfers), sum(n * times for _, n, times in transfers))
        return [[case(rows(E), traffic=traffic, budget=Budget(ops, most))]]

    return diagnosis(sends(bill), sends(solution))


def test_what_costs_too_much_and_of_collectives_only_what_is_so():
    found = {key: of_bills(*bills) for key, bills in BUDGETS.items()}
    assert {key: said and said.key for key, said in found.items()} == {key: key for key in BUDGETS}
    # What each device has combined may be gathered in fewer bytes than an all-reduce sends.
    fits = of_bills([("all-gather", 4, 1)], [("all-reduce", 8, 1)], {"all-reduce"}, 8)
    assert fits == Message("budget-op-fits", {"op": "all-gather", "right": ("all-reduce",)})
    # Summed by a reduce-scatter on the way to another layout, say, and then gathered: nothing is combined after it.
    summed = of_bills([("all-reduce", 4, 1), ("all-gather", 4, 1)], [("all-reduce", 4, 1)], {"all-reduce"}, 4)
    assert summed == Message("budget-op", {"op": "all-gather", "right": ("all-reduce",)})
    # Two rounds of eight turns where seven are enough: 16 permutes instead of 14, not one after the loop.
    op = "collective-permute"
    turns = of_bills([(op, 4, 8)] * 2, [(op, 4, 1)] * 14, {op}, 56)
    assert turns == Message("budget-more", {"count": 16, "enough": 14})


def test_what_ended_before_there_was_a_value():
    def of(reason, text="", line="", signal="", processes=1):
        failure = Failure("ValueError", text, ((3, line),))
        verdict = Verdict("ch90_one.f", "", Message(reason), failure=failure, signal=signal)
        return near_miss(spec_of(processes=processes), verdict, [], [])

    words = "Received incompatible devices for jitted computation"
    assert of("raised", words, "return a + b") == Message("error-devices-mixed")
    assert of("raised", words, "raise ValueError(words)") is None  # its own words, not JAX's
    assert of("crashed", signal="SIGSEGV") == Message("donated-crash")
    assert of("crashed", signal="SIGKILL") is None
    assert of("crashed", signal="SIGABRT", processes=2) == Message("crashed-together")


def test_where_only_the_type_is_wrong_nothing_is_said_of_the_numbers():
    def of(got, expected):
        return of_values([got], [expected])

    assert of({0: 3.0, 1: 3.0}, {0: 3, 1: 3}) != Message("names-swapped", {"keys": ("0", "1")})
    assert of({0: 3, 1: 4}, {0: 4, 1: 3}) == Message("names-swapped", {"keys": ("0", "1")})
    wide = of((E.astype(np.float64), E > 0), (E, E > 0))
    assert wide == Message("dtype", {"got": "float64", "expected": "float32"})
    rounded = of(np.array([1, 3, 7], jax.numpy.int4), np.float32([1.02, 3.01, 7.01]))
    assert rounded and rounded.key != "dtype"  # 1 is not 1.02
    assert of((E > 0, E), (E, E > 0)) == Message("elements-order")
    # the elements of one part are in another order only where all else is right
    right = ((16, 1), "x", (4, 2))
    assert of(((1, 16), "x", (4, 2)), right) == Message("elements-order")
    for wrong in (((1, 16), "y", (4, 2)), ((1, 16), "x", (2, 8)), ((1, 16), "y", (8, 8))):
        assert of(wrong, right) != Message("elements-order")
    assert of(((4, 2), "x", (16, 1)), right) == Message("elements-order")  # of the whole


def test_processes_beside_one_another():
    def of(got, expected):
        return diagnosis([[case(x)] for x in got], [[case(x)] for x in expected])

    assert of([2, 1], [1, 2]) == Message("of-process", {"process": 0, "other": 1})
    mine = [{"id": [0, 1], "n": 4}, {"id": [0, 1], "n": 5}]  # numbers on the host: the same in both
    right = [{"id": [0, 1], "n": 4}, {"id": [8, 9], "n": 5}]
    assert of(mine, right) != Message("of-process", {"process": 1, "other": 0})
    assert of([1.25, 2.0], [1.25, 1.25]) == Message("right-in-one", {"process": 0})
    assert of([1.25, 1.25, 2.0], [1.25] * 3) == Message("right-in-some", {"processes": (0, 1)})
    assert of([1.25, 2.125], [17.0, 17.0]) == Message("processes-differ")
    assert of([7.5, 7.5], [3.75, 3.75]) == Message("times-processes", {"n": 2})
    # of an array over all processes, the rest of which is elsewhere
    over_all = Array("float32", (4,), jax=True, partial=True, placement=Placement(4, False, ((0, ((0, 4),)),)))
    assert trees.other_kind(over_all, Float(1.5), 1e-5) == Message("not-fetched")
    assert trees.other_kind(over_all, Nothing(), 1e-5) is None
    held = [replace(over_all, blocks=(Block(((n, n + 1),), text),)) for n, text in enumerate(("AAAAAA==", "AACAPw=="))]
    assert per_process.apart([Observation((), x) for x in held], [case(), case()], "", 1e-5) is None


def test_what_is_said_has_its_sentence_with_the_same_values_in_both_languages():
    said = {key: entry for key, entry in read_texts(MESSAGES).items() if key.startswith(("near-", "error-"))}
    for key, entry in said.items():
        english, chinese = (set(re.findall(r"{(\w+)}", entry[lang])) for lang in ("en", "zh-Hans"))
        assert chinese == english, key
        assert not re.search(r"[\u4e00-\u9fff][,;:?!]", entry["zh-Hans"]), key


def test_a_sentence_in_a_sentence_and_a_list_are_filled_in_both_languages():
    found = Message("some", {"bad": 3, "all": 8, "within": Message("throughout")})
    assert near_words(found, "en") == "3 of 8 numbers came out wrong, in different places."
    assert near_words(found, "zh-Hans") == "8 个数中有 3 个不对，分布在不同的位置。"
    found = of_values([{0: 3, 1: 4}], [{0: 4, 1: 3}])
    assert found and "0, 1" in near_words(found, "en") and "0、1" in near_words(found, "zh-Hans")
    assert placements.cuts(Array("float32", (), jax=True, placement=Placement(1, True, ((0, ()),)))) == []


NEARLY = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P

def double(x):
    return jnp.roll(2 * x, 2)

def total(x, mesh):
    f = lambda v: jax.lax.psum(v, "x").sum()
    return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P())(x)

def count_to(n):
    print(*range(1, n + 2), sep="\\n")
    return n
"""
TRACED = """
import jax
import numpy as np

def _check(check):
    def cases(rng):
        return [(jax.numpy.asarray(rng.normal(size=n).astype(np.float32)),) for n in (8, 16)]
    check(cases, on_device=True)
"""
LEFT = {
    "right": "def right(x):\n    return x + x",
    "shown": "def shown(x):\n    print(x)\n    assert x.addressable_shards\n    return x + x",
    "hosted": "def hosted(x):\n    return jax.numpy.asarray(2 * np.asarray(x))",
    "branches": "def branches(x):\n    return 2 * x if x[0] > 0 else x + x",
    "pieces": "def pieces(x):\n    n = x.size // 8\n"
    "    parts = [2 * jax.device_put(x[i * n : (i + 1) * n], d) for i, d in enumerate(jax.devices())]\n"
    "    return jax.numpy.concatenate([jax.device_put(p, jax.devices()[0]) for p in parts])",
}


def test_a_learner_reads_it(tmp_path):
    root = project(tmp_path)
    solved = "".join(f"def {n}(x):\n    return 2 * x\n\n\n" for n in LEFT)
    blanks = solved.replace("return 2 * x", "raise NotImplementedError")
    tests = "".join(f"\ndef test_{n}(check):\n    _check(check)\n" for n in LEFT)
    lesson(root, "ch96_left", blanks, solved, TRACED + tests)
    answer(root, "ch90_one", NEARLY)
    answer(root, "ch96_left", "import jax\nimport numpy as np\n\n" + "\n\n\n".join(LEFT.values()) + "\n")
    left = "leave the devices during the computation"
    rows = check(root).rows
    for name, words in {
        "ch90_one.double": "rolled by 2 along dimension 0",
        "ch90_one.total": "each device sends 2 times as many bytes as the budget allows",
        "ch90_one.count_to": "The printed output is not right.",
        "ch96_left.right": "",
        "ch96_left.shown": "",
        "ch96_left.hosted": left,
        "ch96_left.branches": left,
        "ch96_left.pieces": "moves arrays to single devices one by one",
    }.items():
        assert rows[name]["outcome"] == ("wrong" if words else "right") and words in rows[name]["message"], rows[name]
        assert rows[name]["mistake"] is None
