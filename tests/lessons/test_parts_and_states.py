"""What chapter 17 says of parts that wait for their sum, and of an optimizer's state, in words and not by a cell."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import P

from minipod import traffic
from minipod.pods import recorded

LESSONS = Path(__file__).resolve().parents[2] / "lessons"


@pytest.fixture
def zero(lesson):
    return lesson("ch17_step", "zero")


@pytest.fixture
def mesh():
    mesh = jax.make_mesh((8, 1), ("data", "model"))
    with jax.set_mesh(mesh):
        yield mesh


@pytest.fixture
def parameters(mesh, zero):
    from lessons.ch09_training.model import init

    return jax.device_put(jax.device_get(jax.jit(init)(jax.random.key(0))), zero.CUT)


def test_only_a_product_with_both_factors_cut_and_a_cut_index_into_a_table_ask_where_the_result_shall_lie(mesh):
    left, right = np.ones((4, 16), np.float32), np.ones((16, 4), np.float32)
    cut = jax.device_put(left, P(None, "data")), jax.device_put(right, P("data"))
    for one in ((cut[0], right), (left, cut[1])):
        np.testing.assert_array_equal(one[0] @ one[1], left @ right)
    with pytest.raises(Exception, match="Contracting dimensions are sharded and it is ambiguous"):
        cut[0] @ cut[1]
    table, index = np.ones((8, 16), np.float32), np.zeros(16, np.int32)
    assert jax.device_put(table, P(None, "data"))[jnp.asarray(index)].shape == (16, 16)
    with pytest.raises(Exception, match="out_sharding"):
        jax.device_put(table, P())[jax.device_put(index, P("data"))]


def test_not_all_that_changes_a_sum_is_refused_of_parts(mesh):
    rows = jax.device_put(np.full((8, 4), 0.25, np.float32), P("data"))
    weight = jax.device_put(np.zeros((4, 1), np.float32), P(reduced={"data"}))
    parts = jax.jit(jax.grad(lambda w, x: jnp.sum(x @ w)))(weight, rows)  # 0.25 on each of 8 devices
    total = jax.jit(lambda parts: jax.reshard(parts, P()))
    assert total(parts)[0, 0] == 2
    assert total(parts.astype(jnp.int32))[0, 0] == 0
    assert total(jnp.pad(parts, ((0, 1), (0, 0)), constant_values=1.0))[-1, 0] == 8
    for refused in (jnp.sin, lambda parts: 2 * parts, np.asarray):
        with pytest.raises(Exception, match="unreduced|UniqueIndexDomains"):
            refused(parts)
    with pytest.raises((NotImplementedError, ValueError), match="unreduced"):
        parts / 4
    four = jax.device_put(np.float32(4), P(reduced={"data"}))
    if jax.version.__version_info__ >= (0, 12):
        assert total(parts / four)[0, 0] == 0.5
    else:
        with pytest.raises(NotImplementedError, match="unreduced rule for div"):
            parts / four


@pytest.mark.parametrize("how", ["masked", "multi_transform"])
def test_a_parameter_that_is_left_out_needs_no_spec(parameters, zero, how):
    if how == "masked":
        some = optax.masked(optax.adam(1e-3), {name: name != "embed" for name in parameters})
    else:
        labels = {name: "none" if name == "embed" else "adam" for name in parameters}
        some = optax.multi_transform({"adam": optax.adam(1e-3), "none": optax.set_to_zero()}, labels)
    state = jax.jit(some.init, out_shardings=zero.state_specs(parameters, zero.CUT, some))(parameters)
    lies = {str(key): x.sharding.spec for key, x in jax.tree.leaves_with_path(state) if x.ndim}
    assert lies and not any("embed" in key for key in lies)
    assert all(spec == zero.CUT[name] for key, spec in lies.items() for name in zero.CUT if f"'{name}'" in key)


def test_a_state_of_other_shapes_is_one_sentence_and_takes_its_layout_from_parameters_in_place(parameters, zero):
    factored = optax.adafactor(0.001, min_dim_size_to_factor=32)
    words = r"^the state has \(.*\) for a parameter of \(.*\): such an optimizer needs a rule of its own$"
    with pytest.raises(ValueError, match=words):
        zero.state_specs(parameters, zero.CUT, factored)
    state = jax.jit(factored.init)(parameters)
    found = {jax.tree_util.keystr(key): array.sharding.spec for key, array in jax.tree.leaves_with_path(state)}
    assert zero.CUT["up"] == P(None, "data", None), "of which one dimension or the other is averaged"
    (rows,), (columns,) = ([s for k, s in found.items() if f"{kind}['up']" in k] for kind in ("v_row", "v_col"))
    assert (rows, columns) == (P(None, "data"), P(None, None))
    after = jax.jit(factored.update)(parameters, state, parameters)[1]
    same = jax.tree.map(lambda a, b: a.sharding.is_equivalent_to(b.sharding, a.ndim), after, state)
    assert all(jax.tree.leaves(same))


def test_a_single_microbatch_is_in_no_loop(mesh, lesson):
    zero, planned = lesson("ch17_step", "zero", "planned")
    for stage in zero.STAGES:
        for parts, turns in ((1, {"4"}), (2, {"2", "4"})):  # 4 layers
            step, arguments = planned.program(mesh, planned.SHAPES, stage, 8, parts=parts)
            scans = str(jax.make_jaxpr(step)(*arguments))
            assert set(re.findall(r"\blength=(\d+)", scans)) == turns, stage


@pytest.mark.long  # the recorded plans below say it of every `make test`
def test_the_cpus_compiler_makes_the_same_of_a_loop_of_one_turn(mesh, parameters, lesson):
    one_turn = lesson("ch17_step", "one_turn")
    found, losses = {}, []
    rows = jax.device_put(np.arange(64 * 33, dtype=np.int32).reshape(1, 64, 33) % 251, P(None, "data"))
    for name in ("no_loop", "one_turn"):
        step, arguments = getattr(one_turn, name)(mesh)
        lowered = step.lower(*arguments)
        text = (compiled := lowered.compile()).as_text()
        losses.append(float(compiled(parameters, rows)[0]))
        sent = [(c.op, c.bytes, c.times) for c in traffic.read(text, mesh)]
        found[name] = lowered.as_text().count("stablehlo.while"), text.count(" while("), sent
    assert (found["no_loop"][:2], found["one_turn"][:2]) == ((2, 2), (3, 2)), (
        "layers forward, backward; the loop of one"
    )
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert sorted(found["no_loop"][2]) == sorted(found["one_turn"][2])


def test_in_the_recorded_plans_a_loop_of_one_turn_costs_a_forward_pass():
    def products(name, on="v5e:2x4", lesson="ch17_step"):
        (found,) = recorded.plans(LESSONS / lesson, name, on)
        return sum(found.flops.values())

    assert products("no_loop") == products("four_turns") == 427_819_008
    assert products("one_turn") == 545_259_520
    both = (products(name, "v5e:4x4") for name in ("large_one_turn", "large_no_loop"))
    assert np.divide(*both) == pytest.approx(4 / 3, abs=0.01)
    assert products("at_once", lesson="ch09_training") == products("in_parts", lesson="ch09_training"), "not every one"
