"""Mount an empty file system with the visible folders, inside the namespaces made by `unshare`; run the program.

python -I -S mounts.py PLAN    PLAN is JSON, see isolation.py; only the standard library is there

Sources: `man 2 mount_setattr` (one call makes a whole tree read-only, Linux 5.12), `man 8 pivot_root`.
"""

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

_MOUNT_SETATTR = 442  # the same on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY, _NOSUID = 1, 2
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_WRITABLE = ("/tmp", "/dev/shm")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def main() -> None:
    plan = json.loads(sys.argv[1])
    new = "/tmp"  # any folder will do: it is only where the new root is put together
    steps = [*(("show", path) for path in _DEVICES), *map(tuple, plan["steps"])]
    sources = {path: os.open(path, os.O_PATH) for what, path in steps if what == "show"}  # before a mount hides them

    def mount(*options: str) -> None:
        fds = tuple(sources.values())
        subprocess.run([plan["mount"], "--no-canonicalize", *options], check=True, pass_fds=fds)

    def empty(path: str, options: str) -> None:
        os.makedirs(new + path, exist_ok=True)
        mount("-t", "tmpfs", "-o", f"nosuid,nodev,{options}", "tmpfs", new + path)

    empty("", "mode=755")
    for path in _WRITABLE:
        empty(path, f"mode=1777,size={plan['tmp_bytes']},nr_inodes={plan['tmp_files']}")
    for what, path in steps:
        if what == "cover":
            empty(path, "mode=755")
            continue
        _place(new + path, os.path.isdir(f"/proc/self/fd/{sources[path]}"))
        mount("--rbind", f"/proc/self/fd/{sources[path]}", new + path)
    for path in ("/proc", "/old"):
        os.makedirs(new + path, exist_ok=True)
    os.symlink("/proc/self/fd", new + "/dev/fd")
    mount("-t", "proc", "-o", "nosuid,nodev,noexec", "proc", new + "/proc")
    _set_attributes(new, _AT_RECURSIVE, _RDONLY | _NOSUID, 0)
    for path in _WRITABLE:
        _set_attributes(new + path, 0, 0, _RDONLY)
    for fd in sources.values():
        os.close(fd)
    subprocess.run([plan["pivot_root"], new, new + "/old"], check=True)
    os.chdir("/tmp")
    subprocess.run([plan["umount"], "--lazy", "/old"], check=True)
    socket.sethostname("localhost")
    with socket.socket() as anything:
        fcntl.ioctl(anything, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
    os.execv(plan["command"][0], plan["command"])


def _place(path: str, folder: bool) -> None:
    """Create a mount point, unless it exists."""
    if os.path.lexists(path):
        return
    if folder:
        os.makedirs(path)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT, 0o644))


def _set_attributes(path: str, flags: int, put: int, taken: int) -> None:
    """Change the attributes of the mount at `path` and, with _AT_RECURSIVE, of those below it."""
    attributes = struct.pack("QQQQ", put, taken, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, len(attributes)):
        raise OSError(ctypes.get_errno(), "mount_setattr")


if __name__ == "__main__":
    main()
