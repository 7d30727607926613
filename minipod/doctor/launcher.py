"""Check which launcher JAX's own detector sees and whether the coordinator can be reached."""

import contextlib
import errno
import os
import re
import socket
from collections.abc import Mapping
from typing import Any

from minipod.cluster.arguments import different_port
from minipod.cluster.place import conflict, missed_launcher, places
from minipod.doctor.findings import Finding
from minipod.processes.ports import parts

Cluster = dict[str, Any]
PATIENCE = 3.0  # seconds for a connection


def launcher(cluster: Cluster | None, gpus: int = 0, env: Mapping[str, str] = os.environ) -> Finding:
    """Report what `jax.distributed.initialize()` would take from this environment. gpus: number in this machine."""
    if cluster is None:
        return Finding("Launcher", "none: a single process", missed_launcher(env), needed=False)
    if error := cluster.get("error"):
        advice = (
            "if jax.distributed.initialize() fails, pass it all its arguments, and "
            "cluster_detection_method='deactivate'"
        )
        return Finding("Launcher", f"{cluster['launcher']}: {error}", advice)
    ids = cluster["local_devices"]
    local = "" if ids is None else f", local device{'s' * (len(ids) > 1)} {','.join(map(str, ids))}"
    value = f"{cluster['launcher']}: process {cluster['process']} of {cluster['processes']}{local}"
    value += f", coordinator {cluster['coordinator']}"
    value += f"; from {', '.join(cluster['variables'])}" if cluster["variables"] else ""
    advice = _two(cluster, env) or _idle(ids, gpus, env)
    return Finding("Launcher", value, advice, needed=False)


def _two(cluster: Cluster, env: Mapping[str, str]) -> str:
    launchers = places(env)
    if cluster["launcher"] == "minipod run" or len(set(launchers.values())) < 2:
        return ""
    return f"two launchers disagree: {conflict(launchers)}; start the process with only one of them"


def _idle(ids: list[int] | None, gpus: int, env: Mapping[str, str]) -> str:
    """Report idle GPUs: under a launcher JAX takes one GPU per process, however many it may use on the machine."""
    tasks = env.get("OMPI_COMM_WORLD_LOCAL_SIZE") or re.split(r"\D", env.get("SLURM_STEP_TASKS_PER_NODE", ""))[0]
    if (visible := env.get("CUDA_VISIBLE_DEVICES")) is not None:
        gpus = min(gpus, len(visible.split(",")))
    if ids is None or not tasks or gpus <= int(tasks) or env.get("JAX_LOCAL_DEVICE_IDS"):
        return ""
    return (
        f"{gpus - int(tasks)} of {gpus} GPUs would be idle, because JAX gives each process only one: start one process "
        f"per GPU, or one per host with local_device_ids=range({gpus})"
    )


def coordinator(cluster: Cluster | None, env: Mapping[str, str] = os.environ) -> Finding:
    """Check whether process 0 can listen on the coordinator's port and whether the others can reach it."""
    address = (cluster or {}).get("coordinator", env.get("JAX_COORDINATOR_ADDRESS"))
    if address is None:
        from minipod.processes import free_port

        return Finding("Coordinator", f"not set; port {free_port()} on 127.0.0.1 is free")
    try:
        host, port = parts(address)
    except ValueError as error:
        return Finding("Coordinator", address or "an empty JAX_COORDINATOR_ADDRESS", str(error))
    try:
        place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        advice = f"this host cannot resolve {host} ({error.strerror}): correct the name"
        return Finding("Coordinator", address, advice)
    if through := proxied(host, env):
        return Finding("Coordinator", address, around_proxy(through, host))
    if not (cluster or {}).get("process"):
        return _as_first(address, place, bool(cluster), env)
    return _as_other(address, place)


def _as_first(address: str, place: Any, is_first: bool, env: Mapping[str, str]) -> Finding:
    """Check whether process 0 can listen. is_first: whether it is this process; without a launcher, nobody knows."""
    family, kind, _, _, socket_address = place
    with socket.socket(family, kind) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(socket_address)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                return Finding("Coordinator", address, cannot_listen(error, env))
            if not is_first:
                return _as_other(address, place)
            here = socket.gethostname()
            advice = (
                f"process 0 is on {here}, which does not have this address: set JAX_COORDINATOR_ADDRESS to {here} and "
                "a port, the same in all processes"
            )
            return Finding("Coordinator", address, advice)
    return Finding("Coordinator", f"{address}, free")


def cannot_listen(error: OSError, env: Mapping[str, str] = os.environ) -> str:
    """Return what to do if process 0 cannot listen on the coordinator's port."""
    said = f"process 0 cannot listen there ({error.strerror or error})"
    if error.errno == errno.EADDRINUSE:
        return f"{said}: unless your own job uses this port, {different_port(env)}"
    return f"{said}: {different_port(env)}"


def around_proxy(names: str, host: str) -> str:
    """Return what to do if gRPC would use a proxy, given by the names of its variables, for the coordinator's host."""
    return (
        f"gRPC would use the proxy in {names} for {host}: `export no_proxy=$no_proxy,{host}` (or no_grpc_proxy, if "
        "that is set)"
    )


def _as_other(address: str, place: Any) -> Finding:
    """Check whether process 0's host answers, even if process 0 has not started yet."""
    family, kind, _, _, socket_address = place
    with socket.socket(family, kind) as s:
        s.settimeout(PATIENCE)
        try:
            s.connect(socket_address)
        except ConnectionRefusedError:
            return Finding("Coordinator", f"{address}: its host answers, but nothing listens on the port yet")
        except OSError as error:
            why = error.strerror or f"no answer within {PATIENCE:g} s"  # TimeoutError has no words
            return Finding("Coordinator", address, f"it cannot be reached ({why}): is there a firewall in between?")
    return Finding("Coordinator", f"{address}: something listens on the port")


def proxied(host: str, env: Mapping[str, str]) -> str:
    """Return the proxy variable that gRPC uses for `host`; "" if none. Source: grpc/doc/environment_variables.md."""
    asked = next((n for n in ("grpc_proxy", "https_proxy", "http_proxy") if env.get(n)), "")
    without = env.get("no_grpc_proxy") or env.get("no_proxy") or ""
    names = [part.strip().lstrip(".") for part in without.split(",") if part.strip()]
    numbers = {host}
    with contextlib.suppress(OSError):
        numbers.add(socket.gethostbyname(host))
    inside = any(place.endswith(name) for place in numbers for name in names)
    return "" if inside or "*" in names else asked
