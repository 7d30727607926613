"""A traced program leaves its process: what it does is seen where it is compiled, on numbers that it has not seen."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from class_runs import KINDS, ROOT, check_class, hand_in, right
from jax import export
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from seldom import rarely

from grader import Budget
from grader.exercise.exercises import Catalogue
from grader.see import measured, programs
from grader.see import serialized_arguments as arguments
from grader.see.observation import FileObservation, Observation, ProcessResult
from grader.see.observe import draw
from grader.see.values import Int
from grader.see.wire import Malformed

MESH = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
X = jax.device_put(np.arange(16, dtype=np.float32), NamedSharding(MESH, P("x")))


def seen(function, args, budget=None):
    """What is seen of a function that was traced on zeros, in the first case."""
    program = programs.export(function, [arguments.blanked(args, [0])[0]])
    result = ProcessResult("ok", FileObservation(functions={"f": (Observation((), program),)}))
    (case,) = measured.measured(result, "f", [(args, budget)]).cases("f") or ()
    return case


def test_value_placement_and_bytes_are_those_of_the_program():
    def scaled_sum(x):
        jax.debug.print("{}", x)  # would call back to Python
        return {"sum": jnp.sum(x), "twice": (2 * x, None)}

    case = seen(scaled_sum, (X, MESH), Budget({"all-reduce"}, 7))
    assert case.value.items[0].whole() == 120
    twice = case.value.items[1].items[0]
    assert np.array_equal(twice.whole(), 2 * np.arange(16)) and len(twice.where) == 8
    assert [(t.op, t.bytes) for t in case.traffic.transfers] == [("all-reduce", 4)]
    # numbers that are read off the arguments are zeros
    blank = arguments.blanked((X, MESH, 3), [0])
    assert blank[0].sharding == X.sharding and not np.any(np.asarray(blank[0])) and blank[1:] == (MESH, 3)


def test_a_program_that_calls_something_unknown_is_not_run(monkeypatch):
    def evil(x):
        return jax.ffi.ffi_call("evil", jax.ShapeDtypeStruct((16,), jnp.float32))(x)

    allowed = [export.DisabledSafetyCheck.custom_call("evil")]
    monkeypatch.setattr(export, "export", functools.partial(export.export, disabled_checks=allowed))
    case = seen(evil, (X,))
    assert (case.failure.type, case.failure.first_line) == ("UnknownCall", "evil")
    # LAPACK works on sizes that the program itself names, in memory that all submissions share
    case = seen(lambda x: jnp.linalg.qr(x.reshape(4, 4)).Q, (X,))
    assert case.failure.type == "UnknownCall" and case.failure.first_line.startswith("lapack_")


@pytest.mark.parametrize("cases", [1, 2])
def test_a_value_that_is_no_program_or_another_number_of_cases_is_malformed(cases):
    result = ProcessResult("ok", FileObservation(functions={"f": (Observation((), Int(1)),) * cases}))
    with pytest.raises(Malformed):
        measured.measured(result, "f", [((X,), None)])


def test_arguments_come_back_as_they_were():
    def scale(x):
        return 2 * x  # defined in a test: it goes along

    key, committed = jax.random.key(3), jax.device_put(jnp.ones(2), jax.devices()[5])
    args = (X, MESH, scale, key, committed, jnp.ones(2), jax.devices()[2], {"a": np.float16(1)})
    x, mesh, function, same, five, free, device, rest = arguments.loads(arguments.dumps([args], []))[0]
    assert np.array_equal(x, X) and x.sharding == X.sharding and mesh == MESH
    assert function is not scale and function(4) == 8
    assert jnp.array_equal(jax.random.key_data(same), jax.random.key_data(key))
    assert five.devices() == {jax.devices()[5]} and five.committed and not free.committed
    assert device is jax.devices()[2] and rest == {"a": np.float16(1)}


def test_what_a_lesson_defines_goes_along_where_there_are_no_lessons():
    from lessons.ch14_launching.read_sbatch import read_sbatch

    program = "import pickle, sys; sys.modules['lessons'] = None; ((f,),) = pickle.load(sys.stdin.buffer)\n"
    program += "print(f('#!/bin/sh\\n#SBATCH --nodes=2\\nsrun python hello.py')['nodes'])"
    data = arguments.dumps([(read_sbatch,)], [])
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True)
    assert done.stdout == b"2\n", done.stderr.decode()


LOOKS = """
def make_it_fit(plan, rows):
    import gc
    closure = getattr(plan, "__clo" + "sure__", None) or ()
    held = [getattr(cell, "cell_" + "contents") for cell in closure] + [getattr(plan, "table", None)]
    held += gc.get_objects()
    for plans in held:
        if type(plans) is dict and any(type(p) is dict and "fits" in p for p in list(plans.values())):
            return max((n for n in rows if plans[n]["fits"]), default=None)
"""
ASKS_ALL = "def make_it_fit(plan, rows):\n    return max((n for n in rows if plan(n)['fits']), default=None)\n"


@pytest.mark.long
@pytest.mark.parametrize("kind", [KINDS[0], *rarely(KINDS[1])])
def test_what_an_argument_knows_stays_outside_the_room_and_is_counted_there(tmp_path, kind):
    """The table of what fits was in the closure of `plan`, and the count with it."""
    folder = tmp_path / "submissions"
    hand_in(folder, "halves", **right(ROOT, "ch15_pods"))
    for name, text in {"looks": LOOKS, "asks": ASKS_ALL}.items():
        hand_in(folder, name, ch15_pods=text)
    done, rows = check_class(folder, ROOT, "--lessons", "ch15", kind=kind)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # 1: other tests write in this checkout meanwhile
    told = {name: row["ch15_pods.make_it_fit"] for name, row in rows.items()}
    assert told["halves"] == "right"
    assert not told["looks"].startswith("right") and not told["asks"].startswith("right"), told


EACH_ALL = """
parallel_predict = parallel_predict__one_device_then_spread
train_step = train_step__on_one_device
mixed_predict = mixed_predict__one_after_the_other
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", [KINDS[0], *rarely(*KINDS[1:])])
def test_work_is_counted_in_a_room_too(tmp_path, kind):
    """The values are right and lie where they should; one device, or each of them, has computed everything."""
    folder = tmp_path / "submissions"
    others = (ROOT / "tests/data/other_answers/ch02_pmap.py").read_text()
    hand_in(folder, "all", ch02_pmap=others + EACH_ALL)
    hand_in(folder, "divided", **right(ROOT, "ch02_pmap"))
    done, rows = check_class(folder, ROOT, "--lessons", "ch02", "--limit", "90", kind=kind)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    names = [f"ch02_pmap.{name}" for name in ("parallel_predict", "train_step", "mixed_predict")]
    assert [rows["divided"][name] for name in names] == ["right"] * 3
    page = (tmp_path / "class-report/class.html").read_text(encoding="utf-8")
    assert [rows["all"][name] for name in names] == ["wrong"] * 3
    assert page.count("times as much as it needs to") == 3


@pytest.mark.long
def test_no_function_that_is_an_argument_holds_data():
    """What it knows, an answer can read: such an argument has to be an `Asked`, which stays outside."""
    catalogue, told = Catalogue(ROOT / "lessons"), set()
    specs = [catalogue.spec(name) for name in catalogue.exercises]
    for spec in (spec for spec in specs if spec.processes == 1):
        for x in (x for args in draw(spec, 1)[1] for x in args):
            held = [cell.cell_contents for cell in getattr(x, "__closure__", None) or ()]
            if not callable(x) or isinstance(x, jax.sharding.Mesh):
                continue
            held += [*(getattr(x, "__defaults__", None) or ()), *getattr(x, "__dict__", {}).values()]
            if any(not callable(h) and not isinstance(h, (int, str)) for h in held):
                told.add(f"{spec.exercise} {x.__name__} {type(x).__name__}")
    assert told == {"ch15_pods.make_it_fit plan Asked", "ch24_your_program.first_bad bill Asked"}
