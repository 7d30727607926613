"""Chapter 14: whom JAX's detectors recognise; one sum in three ways, one step in three libraries."""

import json
import re
from pathlib import Path

import pytest

from lessons.ch14_launching import detect, neighbours
from minipod.cluster import run
from minipod.cluster.arguments import OPEN_MPI_4
from minipod.processes import free_port

LESSON = Path(neighbours.__file__).parent
SRUN, NOBODY = detect.MADE_UP["srun"], (None, None, None)


@pytest.fixture(scope="module")
def found() -> dict[str, dict]:
    """By launcher what JAX would take from its variables; all are asked at once."""
    cases = dict(detect.MADE_UP)
    for place, batch in (("first", cases["the batch script"]), ("other", detect.HELPER)):
        cases |= {f"{mpi}, {place} host of a job": batch | cases[mpi] for mpi in ("Open MPI 4", "Open MPI 5")}
    cases |= {f"srun without {name}": {k: v for k, v in SRUN.items() if k != name} for name in SRUN}
    return dict(zip(cases, detect.asked(*cases.values()), strict=True))


def test_detectors_say_what_the_page_says(found):
    numbers = {name: (a["detector"], a["process_id"], a["num_processes"]) for name, a in found.items()}
    five = {name: numbers.pop(name) for name in found if name.startswith("Open MPI 5")}
    assert numbers == {
        "srun": ("slurm", 5, 8),
        "the batch script": NOBODY,
        "Open MPI 4": ("ompi", 5, 8),
        "GKE, TPU": ("gketpu", 5, 8),
        "by hand": NOBODY,
        "Open MPI 4, first host of a job": ("ompi", 5, 8),
        "Open MPI 4, other host of a job": ("ompi", 5, 8),
        **{f"srun without {name}": NOBODY for name in SRUN},
    }
    assert [found[name]["local_device_ids"] for name in ("srun", "Open MPI 4", "GKE, TPU")] == [[1], [1], None]
    if "error" in found["Open MPI 5"]:  # JAX 0.12 knows it by other variables, and wants mpi4py for the rest
        assert {*five.values()} == {("ompi", None, None)}
        assert all("mpi4py" in found[name]["error"] for name in five)
    else:
        assert [*five.values()] == [NOBODY, (None, None, None), ("slurm", 0, 1)]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({OPEN_MPI_4: detect.MADE_UP["Open MPI 4"][OPEN_MPI_4]}, "KeyError: 'OMPI_COMM_WORLD_SIZE'"),
        *(
            pytest.param(
                {k: v for k, v in detect.MADE_UP["GKE, TPU"].items() if k != f"MEGASCALE_{name}"},
                "computeMetadata/v1/instance/attributes/tpu-env",
                marks=[pytest.mark.long] * (name != "NUM_SLICES"),
                id=f"GKE without {name}",
            )
            for name in ("COORDINATOR_ADDRESS", "NUM_SLICES", "SLICE_ID")
        ),
    ],
)
def test_variables_that_are_believed_and_cannot_answer(variables, said):
    with pytest.raises(RuntimeError, match=said):
        detect.asked(variables | {"GCE_METADATA_IP": f"127.0.0.1:{free_port()}"})


def losses(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"loss (\S+)", text)]


@pytest.fixture(scope="module")
def recorded() -> dict:
    return json.loads(neighbours.FILE.read_text("utf-8"))["printed"]


@pytest.mark.long
def test_three_ways_give_one_number(recorded):
    by_jax = run(str(LESSON / "sum_jax.py"), processes=2, devices=4).outputs
    by_rpc = run(str(LESSON / "sum_rpc.py"), f"127.0.0.1:{free_port()}", processes=2, devices=4).outputs
    for outputs in by_jax, by_rpc, recorded["sum_mpi.py"]:
        assert [re.findall(r"total (\S+)", text) for text in outputs] == [["28.0"]] * 2  # 0 + 1 + … + 7


@pytest.mark.long
def test_plain_jax_has_the_recorded_losses_and_the_libraries_have_the_same(recorded):
    plain = run(str(LESSON / "step_plain.py"), processes=2, devices=4).outputs
    assert losses(plain[0]) == losses(plain[1])
    assert losses(plain[0]) == pytest.approx(losses(recorded["step_plain.py"][0]), rel=1e-5)
    assert recorded["step_nnx.py"] == recorded["step_haiku.py"] == recorded["step_plain.py"]
