"""Keep gloo, which carries the collectives of CPU devices, on one address.

JAX lets gloo listen, without any authentication, on whatever this machine's name resolves to: often the network card,
sometimes nothing or an address that is gone. JAX has no setting for that, but the function it calls takes a `hostname`.
"""

from functools import partial
from typing import Any

from minipod.processes.imports import once_imported
from minipod.processes.private import lacking, private

_LIBRARY = "jax._src.xla_bridge:_jax"  # as the module knows it that makes the CPU backend of a process in a cluster
_OTHERWISE = "the processes may exchange data through the address of this machine's name, on the network"


def listen_on(address: str) -> None:
    """From now on gloo listens on `address` only, in this process, whether JAX has been imported or will be."""
    once_imported("jax", partial(_bind, address))


def _bind(address: str) -> None:
    make = private(f"{_LIBRARY}.make_gloo_tcp_collectives", _OTHERWISE)

    def make_there(*arguments: Any, **keywords: Any) -> Any:
        try:
            return make(*arguments, **{"hostname": address} | keywords)
        except TypeError:
            lacking("hostname in make_gloo_tcp_collectives", _OTHERWISE)
            return make(*arguments, **keywords)

    if make:
        private(_LIBRARY, _OTHERWISE).make_gloo_tcp_collectives = make_there
