"""What counts as the same value: the rules by which an answer is compared with the solution."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from grader.exercise.spec import Budget, Spec
from grader.judge.compare import difference, placement
from grader.judge.verdict import over_budget
from grader.see.compiled import traffic_in
from grader.see.observation import FileObservation, Observation, ProcessResult, Traffic, is_complete
from grader.see.observe import observe
from grader.see.packing import pack
from grader.see.wire import decode, encode
from minipod.traffic import LINKS

NAN = float("nan")


def test_these_are_the_same_and_these_differ_and_it_is_said_in_what():
    ones, halves, key = jnp.ones(3), jnp.ones(3, "bfloat16"), jax.random.key(1)
    pairs = {
        None: [
            *((np.int64(4), 4), (np.array(4), 4), (jnp.int32(4), 4), (1.0 + 1e-7, 1.0), (NAN, NAN)),
            *(((1, "a", [2.0]), (1, "a", [2.0])), ({"b": 1, "a": 2}, {"a": 2, "b": 1}), ({3, 1}, {1, 3})),
            *((P(("x",), None), P("x", None)), (jnp.float32, np.dtype("float32"))),
            *((np.ones(3, np.float32), ones), (ones * (1 + 1e-6), ones), (halves * 1.01, halves), (key, key)),
            *((jnp.array([1e6, 1e-3]), jnp.array([1e6, 0.0])), (jnp.zeros((0, 3)), jnp.zeros((0, 3)))),
        ],
        "equal": [(5, 4), (P("x"), P("y")), (P("x", "y"), P(("x", "y")))],
        "type": [
            *((True, 1), ("4", 4), (4.0, 4), ((i for i in [1]), 1)),
            *((None, jnp.ones(2)), (2.0, jnp.float32(2)), ([1], (1,))),
        ],
        "keys": [({"a": 1}, {"b": 1})],
        "length": [((1,), (1, 2))],
        "shape": [(ones, jnp.ones((3, 1)))],
        "dtype": [(jnp.ones(3, int), ones)],
        "numbers": [
            *((ones.at[1].set(2), ones), (jnp.array([1, 2]), jnp.array([1, 3]))),
            *((jnp.full(3, 1e-9), jnp.full(3, 2e-9)), (key, jax.random.key(2))),
        ],
    }
    for kind, several in pairs.items():
        found = [difference(pack(got), pack(expected), 1e-5) for got, expected in several]
        assert [one and one.kind for one in found] == [kind] * len(several)


def test_the_first_difference_is_named_an_oracle_is_less_strict_and_an_array_on_the_host_has_no_placement():
    got, expected = ({"w": [jnp.zeros(2), jnp.array([1.0, last])]} for last in (2.0, 1.0))
    found = difference(pack(got), pack(expected), 1e-5)
    assert found is not None
    assert (found.path, found.at, found.numbers) == ("['w'][1]", "[1]", ("2", "1"))
    # an oracle may be of another precision, but not of another shape
    assert difference(pack(jnp.ones(2)), pack(np.ones(2)), 1e-5, strict=False) is None
    assert difference(pack(jnp.float32(2)), pack(2.0), 1e-5, strict=False) is None
    assert difference(pack(jnp.ones(2)), pack(np.ones(1)), 1e-5, strict=False) is not None
    # an array on the host has no placement
    assert placement(pack(jnp.ones(2)), pack(jnp.ones(2))) is None
    assert placement(pack(np.ones(2)), pack(jnp.ones(2))) is not None


def test_a_far_too_large_array_and_one_inside_itself_are_no_trouble():
    with pytest.raises(ValueError, match="far too large"):
        pack(np.broadcast_to(np.int8(0), 10**8))
    endless: list = []
    endless.append(endless)
    assert pack(endless).kind == "list"


def test_a_budget_counts_the_costliest_branch_of_a_condition():
    mesh = jax.make_mesh((8,), ("i",))

    @jax.shard_map(mesh=mesh, in_specs=(P(), P("i")), out_specs=P())
    def program(flag, x):  # x: f32[4]; 16 bytes in one branch, 4 in the other
        return jax.lax.cond(flag, lambda: jax.lax.psum(x, "i").sum(), lambda: jax.lax.psum(x.sum(), "i"))

    x = jax.device_put(np.ones(32, np.float32), jax.NamedSharding(mesh, P("i")))
    text = jax.jit(program).lower(True, x).compile().as_text()
    seen = traffic_in(text or "")
    assert isinstance(seen, Traffic)
    assert sorted(transfer.bytes for transfer in seen.transfers) == [4, 16]
    assert seen.total == 28  # 2 × 7/8 × 16
    within, over = (Observation((), budget=Budget({"all-reduce"}, most), traffic=seen) for most in (28, 27))
    assert over_budget(within) is None
    assert over_budget(over) is not None


def ring(mesh, jump=1, gather=False):
    """A product whose rows travel, one device further or several; gather: they are all kept first."""
    n = mesh.size

    def part(rows, w):
        kept = []
        for step in range(n):
            kept.append(rows if gather else rows @ w)
            if step < n - 1:
                rows = jax.lax.ppermute(rows, "x", [(i, (i + jump) % n) for i in range(n)])
        return jnp.concatenate(kept) @ w if gather else jnp.concatenate(kept)

    def f(x, w, mesh):
        specs = P("x", None), P(None, "x")
        return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(None, "x"))(x, w)

    shapes = (4 * n, 256), (256, 2 * n)
    return f, tuple(jnp.ones(shape) for shape in shapes)


TIME = 7 * 4096 / LINKS["TPU v4"].bytes_per_second  # seven steps of f32[4, 256] to a neighbour


@pytest.mark.parametrize(
    "how, limit, reason",
    [
        ({}, {"seconds": TIME, "on": "TPU v4"}, None),
        ({"jump": 3}, {"seconds": TIME, "on": "TPU v4"}, "budget-seconds"),
        ({}, {"temporary": 5 * 4096}, None),
        ({"gather": True}, {"temporary": 5 * 4096}, "budget-temporary"),
        ({}, {"hidden": True}, None),
        ({"gather": True}, {"hidden": True}, "budget-hidden"),
    ],
)
def test_a_budget_may_limit_time_and_memory_and_ask_for_a_product_beside_each_collective(how, limit, reason):
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    f, arrays = ring(mesh, **how)
    budget = Budget({"collective-permute"}, 7 * 4096, **limit)
    spec = Spec("ch90_one", "f", Path(), lambda rng: [], how="jit", budget=budget)
    case = observe(f, (*arrays, mesh), spec, Path())
    over = over_budget(decode(Observation, encode(case)))
    assert case.failure is None and (over.key if over else None) == reason


def test_what_a_budget_asks_for_must_have_been_measured():
    budget = Budget({"collective-permute"}, 8, hidden=True, temporary=8, seconds=1.0, on="TPU v4")
    spec = Spec("ch90_one", "f", Path(), lambda rng: [], how="jit", budget=budget)
    for measured, traffic in (
        (True, Traffic((), 0, seconds=0.0, temporary=0, exposed=0)),
        (False, Traffic((), 0, seconds=0.0, temporary=0)),
        (False, Traffic((), 0, seconds=0.0, exposed=0)),
        (False, Traffic((), 0, temporary=0, exposed=0)),
    ):
        case = Observation((), pack(1), budget=budget, traffic=traffic)
        result = ProcessResult("ok", FileObservation(functions={"f": (case,)}))
        assert is_complete(spec, 1, result) is measured
