"""Layouts by formulas: against arithmetic by hand, and against plans that a TPU's compiler made."""

from pathlib import Path

import pytest

from minipod import choose, traffic
from minipod.__main__ import main
from minipod.choose import Model
from minipod.pods.recorded import plans

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
STACKS = {"small": (16, 4096, 16384), "large": (24, 8192, 32768)}  # of ch15's stack.py: layers, width, hidden units
PLANNED = ("small_14 v5e:4x4", "large_18 v5e:16x16", "large_18 v5p:4x4x4", "large_18 v6e:8x8")
LARGE = 256 * 1024 * 2 + 32 * 1024 + 16 * (3 * 1024**2 + 1024**2 + 2 * 1024 * 4096)  # of ch09's planned_steps.py


def every(of, on):
    """Each layout by name and sizes, fitting or not."""
    try:
        found = choose.choices(of, on)
    except ValueError:
        return {}
    return {(choice.name, choice.data, choice.model): choice for choice in found}


def stacks():
    """Chapter 15's stacks of layers, bf16 and no optimizer, nothing computed again: (formula, plan) of each."""
    for name, on in map(str.split, PLANNED):
        size, power = name.split("_")
        layers, width, hidden = STACKS[size]
        numbers = {"sums": 2, "weight": 2, "gradient": 2, "state": 2, "inside": hidden / width, "again": False}
        found = every(Model(2 * layers * width * hidden, layers, width, 2 ** int(power), 1, **numbers), on)
        for plan in plans(LESSONS / "ch15_pods", name, on):
            data, model = plan.mesh.shape["data"], plan.mesh.shape["model"]
            layout = "tensor" if data == 1 else "FSDP × tensor" if model > 1 else "FSDP"
            yield f"{name} {on}", found[layout, data, model], plan


def chapter_9():
    """Its model of 201 million parameters, in f32, donated: (formula, plan) of each."""
    for rows, end in ((16, ""), (512, "_512")):
        of = Model(LARGE, 16, 1024, rows, 32, weight=4, gradient=4, again=False)
        found = every(of, "v5e:2x4")
        for name, layout in (("dp", ("data", 8, 1)), ("fsdp", ("FSDP", 8, 1)), ("tp", ("tensor", 1, 8))):
            (plan,) = plans(LESSONS / "ch09_training", f"large_{name}_donated{end}", "v5e:2x4")
            yield f"{name} {rows}", found[layout], plan


def chapter_17():
    """Its steps with Adam, of which nothing is kept, ZeRO-3 on 16 chips: (name, formula, plan) of each."""
    for name, on, layers, width, rows in (
        ("one_nothing", "v5e:4x4", 20, 2048, 32),
        ("eight_nothing", "v5p:2x2x4", 40, 4096, 64),
    ):
        params = 12 * layers * width**2 + (2 * 256 + 1024) * width
        (plan,) = plans(LESSONS / "ch17_step", name, on)
        yield name, every(Model(params, layers, width, rows, 1024), on)["FSDP", 16, 1], plan


def compiled():
    return [each for each in (*stacks(), *chapter_9()) if each[2].collectives is not None]


def test_arithmetic_is_that_of_the_compiled_programs():
    ratios = {name: choice.seconds.compute / plan.seconds.compute for name, choice, plan in compiled()}
    assert ratios == pytest.approx(dict.fromkeys(ratios, 1), rel=0.01)


def test_bytes_sent_are_too_but_where_the_compiler_sends_in_another_way():
    """FSDP alone: all-reduces for reduce-scatters, or f32 weights that are gathered in bf16."""
    for name, choice, plan in compiled():
        ratio = sum(choice.sent.values()) / traffic.total(plan.collectives)
        expected = {"FSDP": (0.5, 0.75, 1.5)}.get(choice.name, (1,))
        assert any(ratio == pytest.approx(one, rel=0.01) for one in expected), (name, choice.name, ratio)


def test_what_a_device_holds_is_within_half_and_a_third_more():
    ratios = [choice.held / plan.memory["peak"] for _, choice, plan in compiled()]
    assert len(ratios) == 16 and 0.45 < min(ratios) and max(ratios) < 1.3


def test_a_compiler_that_runs_the_forward_pass_twice_does_more_than_the_formulas():
    """Three gathers of each weight where two would do; the sums send what the formula says."""
    for name, choice, plan in chapter_17():
        gathered = sum(c.sent for c in plan.collectives if c.op == "all-gather")
        twice = choice.sent["data"] / 2  # of 2 bytes each, beside a reduce-scatter of 4
        assert gathered / twice == pytest.approx(1.5, rel=0.02), name
        assert 0.8 < choice.seconds.compute / plan.seconds.compute < 0.9, name
        assert sum(choice.sent.values()) / traffic.total(plan.collectives) == pytest.approx(0.8, rel=0.02), name
        assert 0.8 < choice.held / plan.memory["peak"] < 1.1, name


def test_what_bounds_is_what_bounds_the_plan():
    differ = [name for name, choice, plan in compiled() if choice.seconds.bound != plan.seconds.bound]
    assert differ == ["tp 16"]  # 1.8 times the memory's time: its network takes longer


def test_what_ran_out_of_memory_does_not_fit():
    ran_out = [choice for _, choice, plan in stacks() if plan.collectives is None]
    assert len(ran_out) == 3 and not any(choice.fits for choice in ran_out)


def test_a_model_by_hand():
    """FSDP of a billion parameters on four chips: two gathers of 2 bytes and a reduce-scatter of 4, three quarters."""
    (found,) = [c for c in choose.choices(Model(1e9, 10, 2048, 8, 1024), "v5e:2x2") if c.name == "FSDP"]
    assert found.sent == {"data": pytest.approx(3 / 4 * (2 * 2 + 4) * 1e9), "model": 0}
    activations = (10 + 16) * 2 * 1024 * 2048 * 2
    assert found.held == pytest.approx((12 + 4 + 2) * 1e9 / 4 + 2 * 1e9 / 10 + activations)
    flops = 4 * (2 * 1e9 + 4 * 10 * 2048 * 1024) * 8 * 1024 / 4
    assert found.seconds.compute == pytest.approx(flops / 1.97e14)


def test_layers_and_width_are_those_of_published_models():
    assert choose.model(8e9, 1, 1).layers == pytest.approx(32, rel=0.1)
    assert choose.model(7e10, 1, 1).width == pytest.approx(8192, rel=0.15)
    assert choose.model(8e9, 1, 1, layers=32, width=4096).width == 4096


def test_the_command_says_what_to_begin_with(capsys):
    assert main(["choose", "--params", "8e9", "--batch", "256", "--seq", "4096", "--on", "v5e:8x8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["FSDP", "64", "1"] and "GB left" in lines[1]
    assert [line.split()[0] for line in lines[1:5]] == ["FSDP", "data", "FSDP", "tensor"]
    assert lines[-2].startswith("Of those that fit the shortest: FSDP, data=64,model=1, 6.15 s a step")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--params 8e12 --batch 256 --seq 4096 --on v5e:8x8", "8e+12 parameters fit on v5e:8x8 in no layout: FSDP"),
        ("--params 0 --batch 256 --seq 4096 --on v5e:8x8", "params 0: a positive number is needed"),
        ("--params 8e9 --batch 256 --seq 4096 --on v5e:3x3", "no slice of v5e is 3x3"),
        ("--params 8e9 --batch 3 --seq 64 --on v5e:8x8 --width 100", "no mesh of v5e:8x8 divides 3 sequences"),
    ],
)
def test_what_cannot_be_is_one_sentence(arguments, sentence, capsys):
    assert main(["choose", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"minipod: {sentence}") and said.count("\n") == 1
