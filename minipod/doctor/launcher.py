"""Check which launcher JAX's own detector sees and whether the coordinator can be reached."""

import contextlib
import errno
import os
import re
import socket
from collections.abc import Mapping
from typing import Any

from minipod.cluster.place import conflict, missed_launcher, places
from minipod.doctor.findings import Finding

Cluster = dict[str, Any]
PATIENCE = 3.0  # seconds for a connection


def launcher(cluster: Cluster | None, gpus: int = 0, env: Mapping[str, str] = os.environ) -> Finding:
    """Report what `jax.distributed.initialize()` would take from this environment. gpus: number in this machine."""
    if cluster is None:
        return Finding("Launcher", "none: a single process", missed_launcher(env), needed=False)
    if error := cluster.get("error"):
        return Finding(
            "Launcher",
            f"{cluster['launcher']}: {error}",
            error if error.startswith("minipod ") else f"JAX's detector fails: {error}",
        )
    ids = cluster["local_devices"]
    local = "" if ids is None else f", local device{'s' * (len(ids) > 1)} {','.join(map(str, ids))}"
    value = f"{cluster['launcher']}: process {cluster['process']} of {cluster['processes']}{local}"
    value += f", coordinator {cluster['coordinator']}; from {', '.join(cluster['variables'])}"
    advice = _two(cluster, env) or _idle(ids, gpus, env)
    return Finding("Launcher", value, advice, needed=False)


def _two(cluster: Cluster, env: Mapping[str, str]) -> str:
    launchers = places(env)
    if cluster["launcher"] == "minipod run" or len(set(launchers.values())) < 2:
        return ""
    chosen = cluster["launcher"]
    said = f"two launchers' variables are set, {conflict(launchers)}; JAX uses those of {chosen}"
    return f"{said}: start the process with only one launcher"


def _idle(ids: list[int] | None, gpus: int, env: Mapping[str, str]) -> str:
    """Report idle GPUs: under a launcher JAX takes one GPU per process, however many the machine has."""
    tasks = env.get("OMPI_COMM_WORLD_LOCAL_SIZE") or re.split(r"\D", env.get("SLURM_STEP_TASKS_PER_NODE", ""))[0]
    if ids is None or not tasks or gpus <= int(tasks) * len(ids):
        return ""
    return (
        f"{gpus - int(tasks) * len(ids)} of {gpus} GPUs would be idle, because JAX gives each process {len(ids)}: "
        f"start {gpus} processes on each host, or one that "
        f"gives jax.distributed.initialize local_device_ids=range({gpus})"
    )


def coordinator(cluster: Cluster | None, env: Mapping[str, str] = os.environ) -> Finding:
    """Check whether process 0 can listen on the coordinator's port and whether the others can reach it."""
    address = (cluster or {}).get("coordinator") or env.get("JAX_COORDINATOR_ADDRESS")
    if not address:
        from minipod.processes import free_port

        return Finding("Coordinator", f"not set; port {free_port()} on 127.0.0.1 is free")
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        place = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
    except ValueError:
        return Finding("Coordinator", address, "this is not a host and a port, such as host0:12345")
    except OSError:
        return Finding("Coordinator", address, f"{host or address} cannot be resolved on this host: is the name right?")
    if through := proxied(host, env):
        advice = f"gRPC would use the proxy in {through} for {host}, and JAX would hang: `export no_proxy={host}`"
        return Finding("Coordinator", address, advice)
    if not (cluster or {}).get("process"):
        return _as_first(address, place, env)
    return _as_other(address, place)


def _as_first(address: str, place: Any, env: Mapping[str, str]) -> Finding:
    """Check whether process 0, which is this process or another on this host, can listen."""
    family, kind, _, _, socket_address = place
    with socket.socket(family, kind) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(socket_address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                here = socket.gethostname()
                advice = f"the others will look for process 0 there, but it is on {here}: set JAX_COORDINATOR_ADDRESS"
                return Finding("Coordinator", address, advice)
            advice = f"process 0 cannot listen there ({error.strerror}): does another job's coordinator use this port? "
            name = "JAX_COORDINATOR_ADDRESS" if env.get("JAX_COORDINATOR_ADDRESS") else "JAX_COORDINATOR_PORT"
            advice += f"Set {name} to a different one, the same in all processes"
            return Finding("Coordinator", address, advice)
    return Finding("Coordinator", f"{address}, free")


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
            why = error.strerror or f"no answer within {PATIENCE:g} s"
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
