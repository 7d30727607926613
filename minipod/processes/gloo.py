"""Keep gloo, which carries the collectives of CPU devices, on one address.

JAX lets gloo listen, without any authentication, on whatever this machine's name resolves to: often the network card,
sometimes nothing or an address that is gone. JAX has no setting for that, but the function it calls takes a `hostname`.
"""

from functools import partial
from types import ModuleType

from minipod.processes.imports import once_imported

_CALLER = "jax._src.xla_bridge"  # makes the CPU backend of a process in a cluster


def listen_on(address: str) -> None:
    """From now on gloo listens on `address` only, in this process, whether JAX has been imported or will be."""
    once_imported(_CALLER, partial(_bind, address))


def _bind(address: str, caller: ModuleType) -> None:
    library = caller._jax
    library.make_gloo_tcp_collectives = partial(library.make_gloo_tcp_collectives, hostname=address)
