"""Chapter 14's sentences about JAX's detectors, asked of the detectors themselves."""

import pytest

from lessons.ch14_launching import detect
from minipod.cluster.arguments import OPEN_MPI_4
from minipod.processes import free_port


def asked(*variables: dict[str, str]) -> list[tuple[object, ...]]:
    return [(a["detector"], a["process_id"], a["num_processes"]) for a in detect.asked(*variables)]


def test_inside_of_a_slurm_job_open_mpi_5_is_nobody_on_the_first_host_and_slurm_on_the_other():
    first, other = detect.MADE_UP["the batch script"], detect.HELPER
    four, five = detect.MADE_UP["Open MPI 4"], detect.MADE_UP["Open MPI 5"]
    assert asked(first | four, other | four) == [("ompi", 5, 8)] * 2
    here, there = detect.asked(first | five, other | five)
    if "error" in here:  # JAX 0.12 knows Open MPI 5 by other variables
        assert here == there and here["detector"] == "ompi" and "mpi4py" in str(here["error"])
    else:
        assert (here["detector"], there["detector"]) == (None, "slurm")
        assert (there["process_id"], there["num_processes"]) == (0, 1)


def test_two_of_the_six_are_recognised_by_nobody_and_a_third_by_one_that_cannot_answer():
    found = dict(zip(detect.MADE_UP, detect.asked(*detect.MADE_UP.values()), strict=True))
    five = found.pop("Open MPI 5")
    assert [name for name, a in found.items() if a["detector"] is None] == ["the batch script", "by hand"]
    assert five["process_id"] is None and ("error" in five) == (five["detector"] == "ompi")  # None: JAX 0.10 and 0.11


def test_the_sign_of_open_mpi_4_alone_is_believed_and_one_variable_of_slurm_is_not():
    with pytest.raises(RuntimeError, match="KeyError: 'OMPI_COMM_WORLD_SIZE'"):
        detect.asked({OPEN_MPI_4: detect.MADE_UP["Open MPI 4"][OPEN_MPI_4]})
    srun = detect.MADE_UP["srun"]
    for name in srun:
        assert asked({k: v for k, v in srun.items() if k != name}) == [(None, None, None)]


@pytest.mark.parametrize("missing", ["MEGASCALE_COORDINATOR_ADDRESS", "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID"])
def test_on_gke_without_a_variable_of_slices_jax_asks_the_metadata_server(missing: str):
    gke = {k: v for k, v in detect.MADE_UP["GKE, TPU"].items() if k != missing}
    with pytest.raises(RuntimeError, match="computeMetadata/v1/instance/attributes/tpu-env"):
        detect.asked(gke | {"GCE_METADATA_IP": f"127.0.0.1:{free_port()}"})
