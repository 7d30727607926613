"""What the devices of a compiled program send each other, and how long that takes on a given interconnect."""

from minipod.hlo.ops import Branch, Collective
from minipod.traffic.bill import EMPTY, SUM, UNKNOWN, Bill, of, read, seconds, sent, table, total
from minipod.traffic.interconnects import LINKS, Link

__all__ = [
    "EMPTY", "LINKS", "SUM", "UNKNOWN", "Bill", "Branch", "Collective", "Link", "of", "read", "seconds", "sent",
    "table", "total",
]  # fmt: skip
