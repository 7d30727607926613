"""Reach JAX's internals: every use of `jax._src` is in this module.

A release of JAX may rename any of them. Then the program runs as it would without minipod, one sentence on stderr says
what is missing and what follows from that, and `minipod doctor` says the same. If JAX has a public way, minipod uses
that instead.
"""

import pkgutil
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

LOGGER = "jax._src.distributed"  # its warnings, by name: a logger that nobody uses does no harm
_STATE = "jax._src.distributed:global_state"
_QUESTIONS = ("get_process_id", "get_process_count", "get_coordinator_address")
_NUMBER = "minipod cannot tell which process this is before JAX starts the devices"
_STORE = "minipod cannot compare what the processes do"
_LAUNCHER = "minipod cannot check whether the processes can meet"
_CLUSTER = "minipod cannot tell which launcher JAX detects"
_GLOO = "the processes may exchange data over the network"


class Part(NamedTuple):
    """A private name, as `pkgutil.resolve_name` takes it, and the consequence if JAX does not have it."""

    name: str
    consequence: str


PARTS = (
    Part(f"{_STATE}.process_id", _NUMBER),
    Part(f"{_STATE}.num_processes", _NUMBER),
    Part(f"{_STATE}.client", _STORE),
    *(Part(f"jax._src.clusters:OmpiCluster.{question}", _LAUNCHER) for question in _QUESTIONS),
    *(Part(f"jax._src.clusters:SlurmCluster.{question}", _LAUNCHER) for question in _QUESTIONS),
    Part("jax._src.clusters:ClusterEnv._cluster_types", _CLUSTER),
    Part("jax._src.clusters:ClusterEnv.auto_detect_unset_distributed_params", _CLUSTER),
    Part("jax._src.xla_bridge:_jax.make_gloo_tcp_collectives", _GLOO),
)
_reported: set[str] = set()


def missing() -> list[Part]:
    """Return the parts that this JAX does not have. This imports JAX but starts no device."""
    return [part for part in PARTS if not _has(part.name)]


def process_and_count() -> tuple[int, int] | None:
    """Return (process_id, num_processes) as `jax.distributed.initialize` got them; None if they cannot be read.

    `jax.process_index()` is the public way, but starts the devices.
    """
    number, count = _get(f"{_STATE}.process_id"), _get(f"{_STATE}.num_processes")
    return None if number is None or count is None else (number, count)


def coordinator_client() -> Any:
    """Return the client of the coordinator's key-value store; None outside of a cluster, or if this JAX lacks it."""
    return _get(f"{_STATE}.client")


def coordinator_lacks(call: str) -> None:
    """Report that the coordinator's client has no method `call`."""
    report_missing(f"{_STATE}.client.{call}", _STORE)


def launcher_questions(detector: str) -> list[Callable[..., Any]] | None:
    """Return a detector's ("SlurmCluster") methods for process number, count and address; None if one is gone."""
    questions = [_get(f"jax._src.clusters:{detector}.{question}") for question in _QUESTIONS]
    return None if None in questions else questions


def cluster_detector() -> Any:
    """Return the class with `_cluster_types` and `auto_detect_unset_distributed_params`; None if either is gone."""
    names = ("_cluster_types", "auto_detect_unset_distributed_params")
    if None in [_get(f"jax._src.clusters:ClusterEnv.{name}") for name in names]:
        return None
    return pkgutil.resolve_name("jax._src.clusters:ClusterEnv")


def gloo_library() -> Any:
    """Return the module whose `make_gloo_tcp_collectives` makes the CPU collectives of a cluster; None without it."""
    if _get("jax._src.xla_bridge:_jax.make_gloo_tcp_collectives") is None:
        return None
    return pkgutil.resolve_name("jax._src.xla_bridge:_jax")


def gloo_lacks_hostname() -> None:
    """Report that `make_gloo_tcp_collectives` takes no `hostname`."""
    report_missing("hostname in make_gloo_tcp_collectives", _GLOO)


def skip_plugins() -> None:
    """Save the 25 ms in which JAX looks for plug-ins (GPU, TPU) in every installed package; CPU devices need none.

    If the name is gone, JAX looks for them as usual, and there is nothing to report.
    """
    if bridge := sys.modules.get("jax._src.xla_bridge"):
        setattr(bridge, "_plugins_registered", True)  # noqa: B010 (its type does not know it)


def report_missing(name: str, consequence: str) -> None:
    """Print that JAX does not have `name`, and the consequence; once per consequence in a process."""
    if consequence not in _reported:
        _reported.add(consequence)
        version = metadata.version("jax")
        print(f"minipod: JAX {version} has no {name.replace(':', '.')}, so {consequence}", file=sys.stderr, flush=True)


def _has(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def _get(name: str) -> Any:
    """Return what JAX has there; None, and a sentence on stderr, if it has nothing."""
    if _has(name):
        return pkgutil.resolve_name(name)
    report_missing(name, dict(PARTS)[name])
    return None
