"""Under Slurm and Open MPI a program ends with a sentence where JAX would hang, or start as somebody else."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from launchers import clean

from minipod.cluster import launch_arguments
from minipod.cluster.arguments import PORTS, launcher, port_of_step
from minipod.processes import free_port

SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
SLURM |= {"SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
MPI = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
MPI_4 = {**MPI, "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://127.0.0.1:34911"}


def within(**variables: str):
    """In the block this process has these variables, and none of another launcher's."""
    return mock.patch.dict(os.environ, clean(**variables), clear=True)


def sentence(**variables: str) -> str:
    """With what sentence a process ends that has these variables and asks for its arguments."""
    with within(**variables), pytest.raises(SystemExit) as ended:
        launch_arguments()
    assert isinstance(ended.value.code, str) and "\n" not in ended.value.code
    return ended.value.code


def test_the_launcher_is_told_by_its_variables_and_jax_agrees():
    from jax._src import clusters

    for variables, name in (
        ({}, None),
        (SLURM, "slurm"),
        ({k: v for k, v in SLURM.items() if k != "SLURM_STEP_NODELIST"}, None),  # an sbatch script outside of srun
        (MPI_4, "ompi"),
        (MPI, "mpi4py"),
        (SLURM | MPI_4, "ompi"),  # mpirun within a job
        (SLURM | MPI, "mpi4py"),
    ):
        assert launcher(variables) == name
        if name in ("slurm", "ompi"):
            with within(**variables):
                kinds = [c for c in clusters.ClusterEnv._cluster_types if not c.opt_in_only_method]
                assert next(c for c in kinds if c.is_env_present()).name == name


def test_where_all_is_well_jax_finds_out_by_itself_and_no_proxy_stands_between_the_processes(capfd):
    with within(**SLURM, JAX_COORDINATOR_PORT=str(free_port()), http_proxy="http://192.0.2.1:9"):
        assert launch_arguments() == {} and "localhost" in os.environ["no_proxy"].split(",")
    assert capfd.readouterr().err == ""


def test_each_further_step_of_a_slurm_job_has_a_port_of_its_own():
    """JAX computes it of the job's number alone, so that the second step would join the first, or take it down."""
    job = {"SLURM_JOB_ID": "4711"}
    from jax._src.clusters import SlurmCluster

    def of_jax(**more: str) -> str:
        with within(**(SLURM | job | more)):
            address = SlurmCluster.get_coordinator_address(timeout_secs=None, override_coordinator_port=None)
            return address.rpartition(":")[2]

    assert of_jax(SLURM_STEP_ID="0") == of_jax(SLURM_STEP_ID="3")  # the mistake
    assert port_of_step(job | {"SLURM_STEP_ID": "0"}) is None and port_of_step(job) is None
    ports = {of_jax(), *(port_of_step(job | {"SLURM_STEP_ID": str(step)}) for step in range(1, 1000))}
    assert len(ports) == 1000 and all(int(port) in PORTS for port in ports if port)
    assert port_of_step(job | {"SLURM_STEP_ID": "2", "JAX_COORDINATOR_PORT": "7777"}) is None
    assert port_of_step(job | {"SLURM_STEP_ID": "4294967290"}) in {str(port) for port in PORTS}  # the batch script's


def test_a_taken_port_a_first_host_without_an_address_and_a_coordinator_that_is_elsewhere_are_named():
    here = socket.gethostname()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = sentence(**SLURM, JAX_COORDINATOR_PORT=str(port))
    assert said.startswith(f"process 0 on {here}: the coordinator's port is taken")
    assert f"localhost:{port}" in said and "JAX_COORDINATOR_PORT" in said
    said = sentence(**SLURM | {"SLURM_STEP_NODELIST": "no-such-host[1-2]", "SLURM_PROCID": "1"})
    assert said.startswith("process 1 on ") and "'no-such-host1', and this host does not know that name" in said
    said = sentence(**SLURM, JAX_COORDINATOR_ADDRESS="192.0.2.77:7777")  # an address that nobody has
    assert f"look for process 0 at 192.0.2.77:7777, but it is on {here}" in said


def test_open_mpi_5_is_told_through_mpi4py(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    with within(**MPI):
        assert launch_arguments() == {"cluster_detection_method": "mpi4py"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install mpi4py" in sentence(**MPI)


@pytest.mark.skipif(sys.platform != "linux", reason="looks like slurmstepd by its name, as Linux keeps it")
def test_variables_of_mpirun_that_came_along_into_srun(tmp_path: Path):
    """A stand-in for slurmstepd starts the process; in reality one inherits such variables through sbatch."""
    starter = shutil.copy("/bin/sh", tmp_path / "slurmstepd")
    ask = "from minipod.cluster import launch_arguments; launch_arguments()"
    command = [starter, "-c", f"{sys.executable} -c '{ask}'; exit $?"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=clean(**SLURM | MPI_4))
    assert done.returncode == 1 and "srun started this process, but OMPI_MCA_orte_hnp_uri" in done.stderr
