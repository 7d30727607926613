"""What a layout of a model holds, sends and takes, worked out by hand; and what `minipod choose` prints."""

import pytest

from minipod import choose, traffic
from minipod.__main__ import main
from minipod.choose import SHAPES, Model, design
from minipod.hlo.ops import Collective
from minipod.pods import absent
from minipod.pods.slices import slice_of


def test_each_choice_is_a_design():
    """data and FSDP are the designs' data and fsdp, model is their tensor."""
    of = choose.model(8e9, 256, 4096)
    for choice in choose.choices(of, "v5e:8x8"):
        axis = "fsdp" if choice.name.startswith("FSDP") else "data"
        made = choose.design(of, "v5e:8x8", **{axis: choice.data, "tensor": choice.model})
        assert (choice.held, choice.room, choice.seconds) == (sum(made.held.values()), made.room, made.seconds)
        assert sum(choice.sent.values()) == made.sent and (choice.sent["model"] > 0) == (choice.model > 1)
        assert choice.most > made.most  # scores and logits come on top


def test_the_command_says_what_to_begin_with(capsys):
    assert main(["choose", "--params", "8e9", "--batch", "256", "--seq", "4096", "--on", "v5e:8x8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["FSDP", "64", "1"] and "may not fit (up to 32.5 GB): plan it" in lines[1]
    assert [line.split()[0] for line in lines[1:5]] == ["FSDP", "data", "FSDP", "tensor"]
    assert lines[-1] == "minipod plan yours.py:program --on v5e:8x8 --mesh data=64,model=1"
    assert lines[-4].startswith("No layout is certain to fit; the fastest that may fit: FSDP, data=64,model=1, 5.73 s")


def test_a_layout_that_the_model_does_not_allow_is_left_out_with_the_reason_and_the_others_stand(capsys):
    asked = ["choose", "--params", "8e9", "--batch", "256", "--seq", "4096", "--on"]
    assert main([*asked, "v5p:4x4x4", "--width", "4000"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("FSDP × tensor") and "\nFSDP    " not in out
    assert "\nLeft out: FSDP, because fsdp=64 does not divide 4000 features of a layer; tensor, because" in out
    assert main([*asked, "v5e:16x16"]) == 0 and "\nFSDP  " in capsys.readouterr().out


def test_nothing_fits_that_a_compiler_refused():
    """libtpu 0.0.52 ran out of memory on v5e:8x8 for a transformer of this size with each of these batches: ZeRO-3 in
    bf16, 32 layers of width 4096, 32 heads, a vocabulary of 256 in the first, of 128,256 in the others."""
    for rows, length, peak in (256, 4096, 18.87), (256, 4096, 20.54), (1024, 1024, 16.39):  # GiB
        of = choose.model(7.5e9, rows, length, layers=32, width=4096)
        (found,) = [c for c in choose.choices(of, "v5e:8x8") if c.name == "FSDP"]
        assert found.held < found.room < peak * 2**30 < found.most and found.fits is None
        first = choose.choices(of, "v5p:4x4x4")[0]
        assert first.name == "FSDP" and first.fits is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--params 8e12 --batch 256 --seq 4096 --on v5e:8x8", "8e+12 parameters do not fit on v5e:8x8 in any layout"),
        ("--params 0 --batch 256 --seq 4096 --on v5e:8x8", "params 0: a positive, finite number is needed"),
        ("--params inf --batch 256 --seq 4096 --on v5e:8x8", "params inf: a positive, finite number is needed"),
        ("--params 8e9 --batch 3 --seq 64 --on v5e:8x8 --width 100",
         "no layout on v5e:8x8 is possible: data, because 3 seq"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(arguments, sentence, capsys):
    assert main(["choose", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"minipod: {sentence}") and said.count("\n") == 1


def test_what_three_axes_hold_and_compute_by_hand():
    made = design(Model(1e8, 4, 1024, 16, 512), "v5e:4x4", data=2, fsdp=4, tensor=2)
    own, activation = 1e8 / 2 / 4, 16 * 512 / 8 * 1024 * 2
    assert made.held == pytest.approx(
        {"state": 12 * own, "gradients": 2 * own, "copy": 2 * own, "gathered": 2 * 1e8 / 4 / 2,
         "inputs": 4 * activation, "inside": (16 / 2 + 3) * activation}
    )  # fmt: skip
    forward = 2 * 1e8 + 4 * 4 * 1024 * 512
    assert made.seconds.compute == pytest.approx((4 * forward - 2 / 3 * 1e8) * 16 * 512 / 16 / 1.97e14)


def test_fsdp_over_a_whole_slice_sends_what_libtpu_makes_of_it():
    """All-reduces send twice as much: libtpu 0.0.52, compiled for each of these slices with weights of 128 MB."""
    seen = {
        (): "v5e:2x2 v5e:2x4 v5e:4x8 v6e:4x8 v5e:8x16 v5p:2x2x1 h100:8",
        ("gradients",): "v5e:4x4 v5e:8x8 v6e:8x8 v5e:16x16 v6e:16x16 v4:2x2x4 v5p:2x2x2 v5p:2x2x4 v5p:2x4x4",
        ("weights", "gradients"): "v4:4x4x4 v5p:4x4x4 v5p:4x4x8 v5p:4x8x8 v5p:4x4x16",
    }
    for names, slices in seen.items():
        for on in slices.split():
            n = slice_of(on).devices
            made = design(of := Model(1e8, 4, 1024, n, 512), on, fsdp=n)
            assert tuple(m.name for m in made.messages if m.op == "all-reduce") == names, on
            twice = 2 * ("weights" in names) + ("gradients" in names)
            assert made.sent == pytest.approx((n - 1) / n * 2 * of.params * (3 + twice)), on
    for on, sizes in ("v5e:8x8", {"fsdp": 16, "data": 4}), ("v5p:4x4x4", {"fsdp": 32, "data": 2}):
        ops = [m.op for m in design(Model(1e8, 4, 1024, 64, 512), on, **sizes).messages]
        assert ops == ["all-gather", "reduce-scatter", "all-reduce"]


def test_seconds_are_those_of_traffic():
    """Of the same collectives on the same mesh."""
    of = SHAPES["llama_8b"].model(128, 2048)
    made = design(of, "v5p:4x4x4", fsdp=16, tensor=4)
    mesh = absent.mesh("v5p:4x4x4", **made.sizes)
    rows = [[4 * i + j for j in range(4)] for i in range(16)]
    groups = {"tensor": tuple(map(tuple, rows)), "fsdp": tuple(zip(*rows, strict=True))}
    collectives = [Collective(m.op, groups[m.axes[0]], round(m.bytes), m.times, m.axes) for m in made.messages]
    assert made.seconds.network == pytest.approx(traffic.seconds(collectives, "TPU v5p", mesh), rel=1e-6)


@pytest.mark.parametrize(
    ("on", "sizes", "said"),
    [
        ("v5e:2x4", {"fsdp": 4}, "v5e:2x4 has 8 devices, but the product of the axes is 4"),
        ("v5e:2x4", {"model": 8}, "no axis is called model: choose from data, stage, fsdp, expert, sequence, tensor"),
        ("v5e:4x4", {"fsdp": 16}, "8 sequences cannot be divided evenly among 16 devices (data × fsdp × expert)"),
        ("v5e:2x4", {"expert": 8}, "expert=8 needs a model with experts"),
        ("v5p:4x4x4", {"stage": 64}, "stage=64 does not divide 32 layers"),
        ("v5e:2x4", {"sequence": 8}, "sequence=8 does not divide 100 tokens of a sequence"),
    ],
)
def test_a_design_that_cannot_be_is_one_sentence(on, sizes, said):
    with pytest.raises(ValueError) as error:
        design(SHAPES["llama_8b"].model(8, 100), on, **sizes)
    assert str(error.value) == said
