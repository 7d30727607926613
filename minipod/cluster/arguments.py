"""Find the arguments for `jax.distributed.initialize` under any launcher: minipod run, Slurm or MPI.

Under Slurm and Open MPI, JAX detects the arguments itself. Conditions under which it would hang silently, or believe
the wrong launcher, are checked first; they end this process with one sentence. Sources: `jax/_src/clusters/`.
"""

import errno
import importlib.util
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

import psutil

from minipod import jax_private
from minipod.cluster.place import SLURM
from minipod.processes import environment, wait_for_listener
from minipod.processes.ports import in_the_way, parts

HEARTBEAT = 10  # seconds until JAX takes a silent process for dead; its default is 100
PATIENCE = 300  # seconds that JAX gives the others to come
SETTLE = 2.0  # seconds in which process 0 finds out that the coordinator which listens is not its own
OPEN_MPI_4 = "OMPI_MCA_orte_hnp_uri"  # what JAX recognises it by
_MPI_STARTERS = ("mpirun", "orted", "orterun", "mpiexec", "prterun", "prted", "prte", "hydra_pmi_proxy")
_SLURM_STARTER = "slurmstepd"


def launch_arguments() -> dict[str, Any]:
    """Return the keyword arguments for `jax.distributed.initialize` under the launcher that started this process.

    The same line, `jax.distributed.initialize(**launch_arguments())`, thus works under every launcher. Under `minipod
    run` they are the coordinator's address, the number of this process, the number of processes, and timeouts; under
    Slurm, Open MPI 4 and on TPUs there are none, because JAX detects these itself; under Open MPI 5 they select the
    detection through mpi4py, which JAX 0.10 does not try by itself. Except there and on TPUs, all processes but the
    first wait here until the coordinator listens: JAX would retry only after a second.

    Raises TimeoutError under `minipod run` if the coordinator does not listen within the limit; under Slurm and Open
    MPI, SystemExit with one sentence if JAX would hang or take the number of another process, or lacks mpi4py.
    """
    if "MINIPOD_COORDINATOR" in os.environ:
        return _from_our_launcher()
    name = launcher()
    if name == "mpi4py":
        if importlib.util.find_spec("mpi4py") is None:
            _end("JAX needs mpi4py to detect Open MPI 5: `pip install mpi4py`")
        environment.without_proxy(os.environ, socket.gethostname())  # its other hosts are known only to MPI
        return {"cluster_detection_method": "mpi4py"}
    if name:
        _look_ahead(name)
    return {}


def launcher(env: Mapping[str, str] = os.environ) -> str | None:
    """Return the JAX detector for the variables in `env`: `ompi`, `slurm`, `mpi4py` (Open MPI 5); None if none fits.

    JAX 0.12 asks in the same order; 0.10 does not ask for Open MPI 5. Within a Slurm job, Open MPI 5 also passes on
    Slurm's variables: those of the batch script on the first host, where JAX finds no other process, and those of
    mpirun's helpers on the other hosts, where JAX takes every process for the helper. So Open MPI 5 comes before Slurm.
    """
    if OPEN_MPI_4 in env:
        return "ompi"
    if "OMPI_COMM_WORLD_SIZE" in env:
        return "mpi4py"
    return "slurm" if all(name in env for name in SLURM) else None


PORTS = range(61440, 65536)  # from which JAX takes the port of a Slurm job, by its number


def port_of_step(env: Mapping[str, str] = os.environ) -> str | None:
    """Return the coordinator's port for later steps of a Slurm job; None for the first, or if a variable sets a port.

    JAX computes the port from the job's number alone. The first step keeps that port, to work with programs that use
    only JAX; later steps get different ones, so that steps that run at the same time do not join each other.
    """
    job, step = env.get("SLURM_JOB_ID", ""), env.get("SLURM_STEP_ID", "")
    if env.get("JAX_COORDINATOR_PORT") or "JAX_COORDINATOR_ADDRESS" in env:  # as JAX has it: see `different_port`
        return None
    if not (job.isdecimal() and step.isdecimal() and int(step)):
        return None
    return str(PORTS[(int(job) + 1009 * int(step)) % len(PORTS)])


def different_port(env: Mapping[str, str] = os.environ) -> str:
    """Return how to give the coordinator a different port.

    JAX takes JAX_COORDINATOR_ADDRESS if it is set, even if it is empty, and then ignores JAX_COORDINATOR_PORT; an empty
    JAX_COORDINATOR_PORT counts as not set. Under `minipod run` JAX reads neither.
    """
    if "MINIPOD_COORDINATOR" in env:
        return "start `minipod run` with a different --port or without --port"
    if "JAX_COORDINATOR_ADDRESS" in env:
        return "change the port in JAX_COORDINATOR_ADDRESS, in all processes"
    return "set JAX_COORDINATOR_PORT to another, the same for all processes"


def _from_our_launcher() -> dict[str, Any]:
    coordinator = os.environ["MINIPOD_COORDINATOR"]
    process, patience = int(os.environ["MINIPOD_PROCESS"]), int(os.environ.get("MINIPOD_LIMIT", PATIENCE))
    if process:
        if not wait_for_listener(coordinator, patience):
            raise TimeoutError(
                f"process 0 did not start the coordinator (jax.distributed.initialize) within {patience:g} s"
            )
    return {
        "coordinator_address": coordinator,
        "num_processes": int(os.environ["MINIPOD_PROCESSES"]),
        "process_id": process,
        "coordinator_bind_address": coordinator,  # JAX's default is every interface
        "initialization_timeout": patience,
        "heartbeat_timeout_seconds": HEARTBEAT,
        "shutdown_timeout_seconds": patience,
    }


def _look_ahead(name: str) -> None:
    """Check that the coordinator can be where JAX will look for it, and that no proxy is in the way."""
    starter = _started_by()
    if name == "ompi" and starter == _SLURM_STARTER:
        _end(
            f"srun started this process, but {OPEN_MPI_4}, which mpirun sets, is there too, and JAX would believe "
            f"that: `unset {OPEN_MPI_4}` before srun"
        )
    if name == "slurm" and (step_port := port_of_step()):
        os.environ["JAX_COORDINATOR_PORT"] = step_port  # JAX reads it there
    questions = jax_private.launcher_questions({"ompi": "OmpiCluster", "slurm": "SlurmCluster"}[name])
    if questions is None:
        return
    number, count, where = questions
    process, port = number(), os.environ.get("JAX_COORDINATOR_PORT")
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    if address is None:
        address = where(timeout_secs=PATIENCE, override_coordinator_port=port)
    try:
        host, port_number = parts(address)
    except ValueError as error:
        variable = "JAX_COORDINATOR_ADDRESS" if "JAX_COORDINATOR_ADDRESS" in os.environ else "JAX_COORDINATOR_PORT"
        _end(f"{variable}: {error}")
    environment.without_proxy(os.environ, host)
    environment.silence_proxy_warning()
    try:
        addresses = socket.getaddrinfo(host, port_number, type=socket.SOCK_STREAM)
    except OSError:
        _end(f"process 0 should be on {host!r}, and this host does not know that name: set JAX_COORDINATOR_ADDRESS")
    if process == 0:
        _see_that_it_is_free(addresses, address)
    elif count() > 1:
        began = time.monotonic()
        if not wait_for_listener(address, PATIENCE):
            _end(f"nothing answered at {address} within {PATIENCE} s: has process 0 ended, or is there a firewall?")
        if time.monotonic() < began + SETTLE:
            time.sleep(SETTLE)  # it may be another job's: process 0 is about to say so


def _see_that_it_is_free(addresses: list[tuple[Any, ...]], address: str) -> None:
    """End this process unless the coordinator can listen on this address, given as all addresses of its name.

    JAX would join any job that listens there, and might take it down.
    """
    faults = in_the_way(addresses)
    if errno.EADDRINUSE in faults:
        _end(f"the coordinator's port is taken, perhaps by another job ({address}): {different_port()}")
    if faults == [errno.EADDRNOTAVAIL] * len(addresses):
        _end(
            f"the others will look for process 0 at {address}, but it is on {socket.gethostname()}: set "
            "JAX_COORDINATOR_ADDRESS to this host and a port, the same for all processes"
        )


def _started_by() -> str | None:
    """Return the name of the nearest ancestor that launches processes; None if none is visible."""
    try:
        names = [parent.name() for parent in psutil.Process().parents()]
    except psutil.Error:
        return None
    return next((name for name in names if name in (*_MPI_STARTERS, _SLURM_STARTER)), None)


def _end(sentence: str) -> NoReturn:
    """End this process with a sentence that names the process."""
    process = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("SLURM_PROCID")
    sys.exit(f"process {process} on {socket.gethostname()}: {sentence}")
