"""Clean the environment of the processes that we start, so that settings for other programs do not affect them.

The reader's own program keeps all settings, except that a proxy must not come between processes of one machine. The
programs of the book and the checker get none of the reader's settings for JAX, XLA and Python's warnings.
"""

import os
from collections.abc import Mapping, MutableMapping

from minipod import jax_private

LOCAL = ("127.0.0.1", "localhost", "::1")
_PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy")
_BENDING = ("JAX_", "XLA_", "LIBTPU_", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONINSPECT")
# These say where a process is, not how it works.
_KEPT = ("JAX_COORDINATOR_", "JAX_LOCAL_DEVICE_IDS", "JAX_SLICE_INDEX", "JAX_PARTITION_INDEX")
_SYSTEM_COMMANDS = "/usr/local/sbin:/usr/sbin:/sbin"  # not on the PATH of Debian's ordinary users


def proxies(env: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of the proxy variables that are set, in any spelling."""
    return sorted(name for name, value in env.items() if name.lower() in _PROXIES and value)


def without_proxy(env: MutableMapping[str, str], *hosts: str) -> None:
    """Let programs reach `hosts` and this machine without a proxy, and other hosts as before.

    JAX's coordinator speaks gRPC, which would ask the proxy even for 127.0.0.1, and wait for it silently.
    Changes nothing if no proxy is set. Source: grpc/doc/environment_variables.md.
    """
    if not proxies(env):
        return
    written = [env.get(name, "") for name in ("no_proxy", "NO_PROXY")]
    names = dict.fromkeys(part.strip() for part in ",".join((*written, *LOCAL, *hosts)).split(",") if part.strip())
    env["no_proxy"] = env["NO_PROXY"] = ",".join(names)
    if grpc := env.get("no_grpc_proxy"):  # gRPC reads this instead, where it is set
        env["no_grpc_proxy"] = ",".join((grpc, *names))


def silence_proxy_warning() -> None:
    """If a proxy is set, silence JAX's warning of a hang that can no longer happen in this process."""
    if proxies():
        import logging

        logging.getLogger(jax_private.LOGGER).addFilter(lambda record: "proxy variable" not in record.getMessage())


def bending(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings that change what JAX does or how Python runs, except those that describe the cluster."""
    return {name: value for name, value in env.items() if name.startswith(_BENDING) and not name.startswith(_KEPT)}


def cleanse(env: MutableMapping[str, str] = os.environ) -> dict[str, str]:
    """Remove the `bending` settings from `env`, and bypass any proxy; return what was removed, by name.

    Call it before JAX is imported, since JAX reads its settings then.
    """
    left_aside = bending(env)
    for name in left_aside:
        del env[name]
    without_proxy(env)
    return left_aside


def clean(**more: str) -> dict[str, str]:
    """Return this process's environment, cleansed, plus `more`, for children of the book or the checker."""
    env = dict(os.environ)
    cleanse(env)
    return env | more


def search_path(env: Mapping[str, str] = os.environ) -> str:
    """Return PATH, with the folders of the system's commands (ip, tc), which only root's PATH has."""
    return ":".join(filter(None, (env.get("PATH", os.defpath), _SYSTEM_COMMANDS)))


def limit_collectives(env: MutableMapping[str, str], seconds: int) -> None:
    """Set how long a collective of CPU devices waits for the others; JAX's backend reads this when it starts."""
    env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} --xla_cpu_collective_timeout_seconds={seconds}".strip()
