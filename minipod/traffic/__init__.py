"""Count what the devices of a compiled program send to each other, and estimate the time on an interconnect.

The figures are read from the text of the compiled program, so nothing runs. A loop counts as often as it runs.

    >>> import jax
    >>> from minipod import traffic
    >>> at = jax.NamedSharding(jax.make_mesh((8,), ("data",)), jax.P("data"))
    >>> x = jax.device_put(jax.numpy.ones((32, 64)), at)
    >>> print(traffic.table(traffic.of(lambda x: x.sum(0), x)))
    collective  axes  bytes  times  sent
    all-reduce  data    256      1   448
    each device sends (compiled for CPU): 448
"""

from minipod.hlo.ops import Branch, Collective
from minipod.traffic.bill import EMPTY, SUM, UNKNOWN, Bill, of, read, sent, table, total
from minipod.traffic.interconnects import LINKS, Link
from minipod.traffic.program_time import AtLeast, at_least, seconds

__all__ = [
    "EMPTY", "LINKS", "SUM", "UNKNOWN", "AtLeast", "Bill", "Branch", "Collective", "Link", "at_least", "of", "read",
    "seconds", "sent", "table", "total",
]  # fmt: skip
