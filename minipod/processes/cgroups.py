"""Find this process's control group. Sources: the kernel's admin-guide/cgroup-v1 and cgroup-v2; man 7 cgroups."""

import contextlib
import re
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """A control group: its folder `place`, which may be hidden, below `top`, where the hierarchy is mounted."""

    top: Path
    place: Path

    def path(self) -> list[Path]:
        """Return the folders of this group and of the groups above it."""
        return [folder for folder in (self.place, *self.place.parents) if folder.is_relative_to(self.top)]


def group_of_this_process(root: Path, kind: str, option: str = "", controller: str = "") -> Group | None:
    """Return the group in the hierarchy that is mounted as `kind` with `option`; None if there is none.

    kind: cgroup2, or cgroup (version 1), whose hierarchies each have a `controller`
    """
    with contextlib.suppress(OSError):
        mounts = [line.split(" ") for line in (root / "proc/self/mounts").read_text().splitlines()]
        lines = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
        top = next((m[1] for m in mounts if m[2] == kind and (not option or option in m[3].split(","))), None)
        group = next((path for _, names, path in lines if controller in names.split(",")), None)
        if top is not None and group is not None:
            folder = root / re.sub(r"\\040", " ", top).lstrip("/")
            return Group(folder, folder / group.lstrip("/"))
    return None
