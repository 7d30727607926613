"""A wrong answer whose result does not depend on an argument is told which, and how it calls what it was handed.

Run by test_in_a_fresh_process.py: checks are forked from it, and it must have started no device.
"""

import inspect
import textwrap

import jax
import jax.numpy as jnp
import pytest
from checker_runs import answer, lesson, verdict_on
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from grader.home import HERE
from grader.run import sensitivity

IMPORTS = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom jax.sharding import NamedSharding\n"
IMPORTS += "from jax.sharding import PartitionSpec as P\n\n\n"


def checked(exercise, function, folder):
    """The verdict on a function's own text, and what a learner reads in both languages."""
    lesson, _, name = exercise.partition(".")
    text = textwrap.dedent(inspect.getsource(function)).replace(f"def {function.__name__}(", f"def {name}(")
    (folder / f"{lesson}.py").write_text(IMPORTS + text)
    verdict, said = verdict_on(HERE, exercise, folder)
    return verdict, [*said.values()]


def gate_for_up_and_no_bias(x, gate, up, down, bias, mesh):
    def block(x, gate, down):
        return x + lax.psum((jax.nn.silu(x @ gate) * (x @ gate)) @ down, "model")

    specs = (P("data"), P(None, "model"), P("model"))
    return jax.shard_map(block, mesh=mesh, in_specs=specs, out_specs=P("data"))(x, gate, down)


def totals_forgotten(values, tops, totals):
    scale = jnp.exp(tops - tops.max(axis=0))
    return (values * scale[..., None]).sum(axis=0) / scale.sum(axis=0)[:, None]


def totals_of_one_row(values, tops, totals):
    scale = jnp.exp(tops - tops.max(axis=0))
    counts = jnp.where(jnp.arange(totals.shape[1]) == 0, totals, 1.0)
    return (values * scale[..., None]).sum(axis=0) / (counts * scale).sum(axis=0)[:, None]


def cache_alone(weights, position, heads, batch, length, n, rest):
    import math

    return batch * length * position // (math.gcd(heads, n) if rest == "copies" else n)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """As on a machine with nothing else to do."""
    monkeypatch.setattr(sensitivity, "WAITED", 60.0)
    monkeypatch.setattr(sensitivity, "SECONDS", 60.0)


@pytest.mark.parametrize(
    ("exercise", "function", "names"),
    [
        pytest.param("ch09_training.gated_mlp", gate_for_up_and_no_bias, ["up", "bias"], marks=pytest.mark.long),
        pytest.param("ch19_sequences.merge_parts", totals_forgotten, ["totals"], marks=pytest.mark.long),
        pytest.param("ch19_sequences.merge_parts", totals_of_one_row, [], marks=pytest.mark.long),
        ("ch20_serving.step_bytes", cache_alone, ["weights"]),
    ],
)
def test_what_a_result_does_not_depend_on_is_told(exercise, function, names, tmp_path):
    verdict, (english, chinese, derived) = checked(exercise, function, tmp_path)
    assert (verdict.outcome, verdict.mistake, verdict.likely) == ("wrong", None, None)
    assert list(verdict.unmoved) == names
    if not names:
        assert not any("does not change" in line for line in english)
        return
    first, second = (word.join(f"`{name}`" for name in names) for word in (" or ", " 或 "))
    assert english[1] == f"Your result does not change when {first} changes; the right one does."
    assert chinese[1] == f"{second} 改变时，正确的结果会随之改变，你的结果却不变。"
    assert second in derived[1]
    assert english[0] and not english[0].startswith("called")  # what differs is said, too


MIX = """
from grader import array


def test_mix(check):
    def cases(rng):
        drawn = [array(rng.normal(size=(3, *size))) for size in ((4, 3), (2, 6))]
        return [({'scale': a, 'shift': b, 'name': 'w'}, x) for a, b, x in drawn]

    check(cases)
"""


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("np.tanh(x) * params['scale']", ('params["shift"]',)),
        ("np.tanh(x) * params['scale'] + params['shift'][0, 0]", ()),
        ("np.tanh(x) * params['scale'] + params['shift'] * (x > 1.5)", ()),
        ("np.where(x > 99, params['shift'], params['scale'])", ('params["shift"]', "x")),
        ("np.random.normal(size=x.shape)", ()),
    ],
)
def test_an_entry_of_a_dict_is_named_and_a_single_number_that_counts_is_enough(body, names, tmp_path):
    function = "import numpy as np\n\n\ndef mix(params, x):\n    {}\n".format
    right = "return x * params['scale'] + params['shift']"
    lesson(tmp_path, "ch97_mix", function("raise NotImplementedError"), function(right), MIX)
    answer(tmp_path, "ch97_mix", function(f"return {body}"))
    verdict, _ = verdict_on(tmp_path, "ch97_mix.mix")
    assert (verdict.outcome, verdict.unmoved) == ("wrong", names)


@pytest.mark.long
def test_what_the_right_result_does_not_depend_on_is_not_told(tmp_path):
    """The guess of chapter 6 keeps digits, and is in no result; with a bad one the reference itself loses some."""

    def half_the_variance(x, guess, mesh):
        return jax.jit(lambda v: (v.mean(), v.var() / 2), out_shardings=NamedSharding(mesh, P()))(x)

    verdict, _ = checked("ch06_shard_map.mean_and_variance", half_the_variance, tmp_path)
    assert (verdict.outcome, verdict.reason, verdict.unmoved) == ("wrong", "differs", ())


@pytest.mark.long
def test_a_learner_reads_how_a_function_was_called_and_how_it_should_be(tmp_path):
    def parallel_predict(predict, params, batch, num_devices):
        return predict(params, batch.reshape(-1, batch.shape[-1])).reshape(*batch.shape[:-1], -1) + 1

    _, (english, chinese, _) = checked("ch02_pmap.parallel_predict", parallel_predict, tmp_path)
    assert any("Your code calls `predict` on f32[" in line for line in english)
    assert any("调用 `predict` 时传入的是 f32[" in line for line in chinese)


@pytest.mark.long
def test_nothing_is_tried_of_a_right_answer_or_of_a_known_mistake_and_not_for_long(tmp_path, monkeypatch):
    def right(values, tops, totals):
        scale = jnp.exp(tops - tops.max(axis=0))
        return (values * scale[..., None]).sum(axis=0) / (totals * scale).sum(axis=0)[:, None]

    def tops_forgotten(values, tops, totals):
        return values.sum(axis=0) / totals.sum(axis=0)[:, None]

    monkeypatch.setattr(sensitivity, "SECONDS", 0.0)
    verdict, _ = checked("ch19_sequences.merge_parts", totals_forgotten, tmp_path)
    assert verdict.unmoved == () and verdict.outcome == "wrong"
    monkeypatch.setattr(sensitivity, "unmoved", lambda *_: pytest.fail("it was tried"))
    assert checked("ch19_sequences.merge_parts", right, tmp_path)[0].outcome == "right"
    known, _ = checked("ch19_sequences.merge_parts", tops_forgotten, tmp_path)
    assert known.mistake == "merge_parts__as_they_are"
