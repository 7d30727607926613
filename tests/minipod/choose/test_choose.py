"""Every layout of three axes: against the designs and arithmetic by hand; what the command says."""

import pytest

from minipod import choose
from minipod.__main__ import main
from minipod.choose import Model


def test_each_choice_is_a_design():
    """data and FSDP are the designs' data and fsdp, model is their tensor."""
    of = choose.model(8e9, 256, 4096)
    for choice in choose.choices(of, "v5e:8x8"):
        axis = "fsdp" if choice.name.startswith("FSDP") else "data"
        made = choose.design(of, "v5e:8x8", **{axis: choice.data, "tensor": choice.model})
        assert (choice.held, choice.room, choice.seconds) == (sum(made.held.values()), made.room, made.seconds)
        assert sum(choice.sent.values()) == made.sent
        assert choice.most > made.most  # scores and logits come on top


def test_a_model_by_hand():
    """FSDP of a billion parameters on four chips: two gathers of 2 bytes and a reduce-scatter of 4, three quarters."""
    (found,) = [c for c in choose.choices(Model(1e9, 10, 2048, 8, 1024), "v5e:2x2") if c.name == "FSDP"]
    assert found.sent == {"data": pytest.approx(3 / 4 * (2 * 2 + 4) * 1e9), "model": 0}
    activations = (10 + 16) * 2 * 1024 * 2048 * 2
    assert found.held == pytest.approx((12 + 4 + 2) * 1e9 / 4 + (2 + 4) * 1e9 / 10 + activations)
    flops = (4 * (2 * 1e9 + 4 * 10 * 2048 * 1024) - 2 / 3 * 1e9) * 8 * 1024 / 4  # the last product is not made again
    assert found.seconds.compute == pytest.approx(flops / 1.97e14)


def test_layers_and_width_are_those_of_published_models():
    assert choose.model(8e9, 1, 1).layers == pytest.approx(32, rel=0.1)
    assert choose.model(7e10, 1, 1).width == pytest.approx(8192, rel=0.15)
    assert choose.model(8e9, 1, 1, layers=32, width=4096).width == 4096


def test_the_command_says_what_to_begin_with(capsys):
    assert main(["choose", "--params", "8e9", "--batch", "256", "--seq", "4096", "--on", "v5e:8x8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["FSDP", "64", "1"] and "may not fit, plan it: up to 37.6 GB" in lines[1]
    assert [line.split()[0] for line in lines[1:5]] == ["FSDP", "data", "FSDP", "tensor"]
    assert lines[-1] == "minipod plan yours.py:program --on v5e:8x8 --mesh data=64,model=1"
    assert lines[-4].startswith("None is sure to fit; of those that may the shortest: FSDP, data=64,model=1, 5.71 s a")


def test_nothing_fits_that_a_compiler_refused():
    """The command's example, as libtpu 0.0.52 compiled chapter 17's step for v5e:8x8 (ZeRO-3, bf16, keep=nothing, 32
    layers of width 4096, 32 heads): out of memory with each of these batches, the first with a vocabulary of 256, the
    others with one of 128,256."""
    for rows, length, peak in (256, 4096, 18.87), (256, 4096, 20.54), (1024, 1024, 16.39):  # GiB
        of = choose.model(7.5e9, rows, length, layers=32, width=4096)
        (found,) = [c for c in choose.choices(of, "v5e:8x8") if c.name == "FSDP"]
        assert found.held < found.room < peak * 2**30 < found.most and found.fits is None
        first = choose.choices(of, "v5p:4x4x4")[0]
        assert first.name == "FSDP" and first.fits is True


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
