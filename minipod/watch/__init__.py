"""Find the processes of a running job that hang or are slow, for `minipod watch`.

Each process of the job writes a small file every second (`minipod.cluster.Heartbeat`); `judge` compares them.

    >>> from minipod import cluster, watch
    >>> beats = cluster.Heartbeat("beats")
    >>> beats.begin(1)
    >>> beats.close()
    >>> said, unreadable = watch.Folder("beats").look()
    >>> [(b.process, b.doing, b.step) for b in said], watch.judge(said)
    ([(0, 'ended', 1)], [])
"""

from minipod.watch.diagnosis import Finding, judge
from minipod.watch.heartbeats import Beat, Folder
from minipod.watch.watching import once, watch

__all__ = ["Beat", "Finding", "Folder", "judge", "once", "watch"]
