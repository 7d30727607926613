"""A few hosts on this machine, each with a network and a name of its own, joined by cables that may be slow."""

from minipod.hosts.laboratory import Lab, check, lab
from minipod.hosts.namespaces import why_not

__all__ = ["Lab", "check", "lab", "why_not"]
