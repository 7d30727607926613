"""Simulate a few hosts on this machine, each with its own network and name, joined by cables that may be slow.

This shows how a slow network affects a program and how much a program sends. Linux is needed, and the right to create
namespaces, which root and often every user has; `why_not` says what is missing.

    >>> from pathlib import Path
    >>> from minipod import hosts
    >>> length = Path("sum.py").write_text('''
    ... import jax
    ... from jax.experimental.multihost_utils import process_allgather
    ... from minipod.cluster import launch_arguments
    ... jax.distributed.initialize(**launch_arguments())
    ... print(int(process_allgather(jax.numpy.ones(1)).sum()))
    ... ''')
    >>> with hosts.lab(2, rate="100mbit", delay="5ms") as lab:
    ...     done = lab.run("sum.py", devices=1)
    >>> done.outputs
    ['2\\n', '2\\n']
"""

from minipod.hosts.laboratory import Lab, check, lab
from minipod.hosts.namespaces import why_not

__all__ = ["Lab", "check", "lab", "why_not"]
