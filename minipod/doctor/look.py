"""Report what JAX finds, in a separate process: `python -m minipod.doctor.look`, one JSON object per line.

    {"early": …}      whether JAX was started before the program, whose settings would come too late
    {"missing": …}    private names of JAX that minipod uses and this JAX lacks: name and consequence
    {"cluster": …}    the cluster that JAX's detector would join, or null; see `detect`
    {"simulated": …}  the devices that a process sees when it asks for eight simulated ones
    {"devices": …}    count, platform and kind, with the settings of this environment

A library may end the process; the lines printed before that remain valid.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from minipod import jax_private
from minipod.devices import have_started

EARLY = have_started()
PATIENCE = 20  # seconds for a detector, which may ask a server in the cloud

# What JAX's classes are called by those who use them
NAMES = {
    "OmpiCluster": "Open MPI",
    "SlurmCluster": "Slurm",
    "Mpi4pyCluster": "mpi4py",
    "GkeTpuCluster": "GKE (TPU)",
    "GceTpuCluster": "Cloud TPU",
    "K8sCluster": "Kubernetes",
}


def main() -> None:
    """Print the findings, one per line. The argument `no-simulation` skips the simulated devices."""
    tell(early=EARLY)
    tell(missing=[[part.name.replace(":", "."), part.consequence] for part in jax_private.missing()])
    tell(cluster=detect())
    if "no-simulation" not in sys.argv:
        tell(simulated=_simulated())
    tell(devices=devices())


def tell(**what: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(what), flush=True)


class _Noting(dict[str, str]):
    """An environment that records which of its variables are read."""

    def __init__(self) -> None:
        super().__init__(os.environ)
        self.read: dict[str, None] = {}

    def _note(self, name: Any) -> None:
        if dict.__contains__(self, name):
            self.read[name] = None

    def __getitem__(self, name: str) -> str:
        self._note(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._note(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)


def detect(method: str | None = None) -> dict[str, Any] | None:
    """Return what JAX's own detector would tell `jax.distributed.initialize()` here; None if it finds no cluster.

    Keys: launcher, method (JAX's name for it), coordinator, processes, process, local_devices (None: all), variables
    (those that it read); if the detector fails, `error` in place of the numbers. `minipod run` has its own numbers.
    """
    env = os.environ
    if address := env.get("MINIPOD_COORDINATOR"):
        numbers = {"processes": int(env["MINIPOD_PROCESSES"]), "process": int(env["MINIPOD_PROCESS"])}
        read = [name for name in env if name.startswith("MINIPOD_")]
        more = {"coordinator": address, "local_devices": None, "variables": read}
        return {"launcher": "minipod run", "method": None, **numbers, **more}
    if not (detector := jax_private.cluster_detector()):
        return {"launcher": "unknown", "error": "minipod cannot tell which launcher JAX detects", "variables": []}
    noting, before = _Noting(), os.environ
    setattr(os, "environ", noting)  # noqa: B010 (its type says otherwise)
    cluster: dict[str, Any] = {"launcher": "unknown"}
    try:
        with _within(PATIENCE):
            kinds: list[Any] = detector._cluster_types
            chosen = next((k for k in kinds if _takes(k, method)), None)
            if chosen is None:
                return None
            noting.read.pop("JAX_COORDINATOR_PORT", None)
            cluster = {"launcher": NAMES.get(chosen.__name__, chosen.__name__), "method": chosen.name}
            ids = noting.get("JAX_LOCAL_DEVICE_IDS")
            local = [int(i) for i in ids.split(",")] if ids else None
            given = noting.get("JAX_COORDINATOR_ADDRESS"), None, None, local, method
            address, count, mine, local = detector.auto_detect_unset_distributed_params(*given, 5)
            numbers = {"coordinator": address, "processes": count, "process": mine, "local_devices": local}
            cluster |= numbers
    except Exception as error:
        cluster |= {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
    finally:
        setattr(os, "environ", before)  # noqa: B010
    return cluster | {"variables": list(noting.read)}


def _takes(kind: Any, method: str | None) -> bool:
    if method:
        return kind.name == method and kind.is_env_present()
    return not kind.opt_in_only_method and kind.is_env_present()


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _simulated() -> str:
    """Return the simulated devices that a fork sees, since a process starts JAX once: "8 cpu · cpu", or the error."""
    import jax  # noqa: F401 (the fork has it ready)

    end, begin = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            from minipod.devices import simulate

            simulate(8)
            answer = in_short(devices())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(begin, answer.encode()[:2000])
        os._exit(0)
    os.close(begin)
    with open(end, encoding="utf-8", errors="replace") as reader:
        answer = reader.read()
    os.waitpid(pid, 0)
    return answer or "ended without a message"


def devices() -> dict[str, Any]:
    """Return the count, platform and kind of JAX's devices. JAX's errors are passed on."""
    import jax

    facts = jax.devices()
    return {"count": len(facts), "platform": facts[0].platform, "kind": facts[0].device_kind}


def in_short(facts: dict[str, Any]) -> str:
    """Format the facts of `devices` as `8 cpu · cpu`."""
    return f"{facts['count']} {facts['platform']} · {facts['kind']}"


if __name__ == "__main__":
    main()
