"""Who hangs and who is slow, while a job runs: `minipod watch`."""

from minipod.watch.command import once, watch
from minipod.watch.files import Beat, Folder
from minipod.watch.findings import Finding, judge

__all__ = ["Beat", "Finding", "Folder", "judge", "once", "watch"]
