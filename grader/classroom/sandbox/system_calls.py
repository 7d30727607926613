"""Refuse, to a sandbox and its children, system calls that no answer needs and that reach beyond the sandbox.

Keys outlive the sandbox that made them, and a later one with the same user could read them. System V memory belongs to
no process, nor does a file in memory while it is on its way through a socket, so neither is counted. In a namespace of
its own, a process may mount file systems, where it has every capability and what it writes is not counted.
Sources: `man 2 seccomp`, `man 7 keyrings`, `man 7 namespaces`, linux/filter.h, linux/audit.h, linux/sched.h.
"""

import ctypes
import errno
import platform
import struct
import sys

# By machine: the kernel's name for it (AUDIT_ARCH_*), and the calls' numbers there.
NUMBERS = {
    "x86_64": (
        0xC000003E,
        {"add_key": 248, "request_key": 249, "keyctl": 250, "shmget": 29, "semget": 64, "msgget": 68}
        | {"ptrace": 101, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "perf_event_open": 298}
        | {"unshare": 272, "setns": 308, "mount": 165, "fsopen": 430, "memfd_create": 319, "memfd_secret": 447},
    ),
    "aarch64": (
        0xC00000B7,
        {"add_key": 217, "request_key": 218, "keyctl": 219, "shmget": 194, "semget": 190, "msgget": 186}
        | {"ptrace": 117, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "perf_event_open": 241}
        | {"unshare": 97, "setns": 268, "mount": 40, "fsopen": 430, "memfd_create": 279, "memfd_secret": 447},
    ),
}
# What starts processes and threads. `clone` is refused only with a flag for a new namespace. The flags of `clone3` lie
# in memory, which a filter cannot read: it is said to be missing, and the C library takes `clone` instead.
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
_NAMESPACES = 0x7E020000  # CLONE_NEW* of linux/sched.h, all that `clone` knows
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF: word at, ==, >=, &, return
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # where struct seccomp_data has them; of the first argument the lower half
_ALLOW, _REFUSE, _MISSING = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_X32 = 0x40000000  # from here on the numbers of another way to call, on x86_64
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def refuse() -> bool:
    """Make the kernel refuse the calls from now on; return whether it does, which needs a listed type of machine."""
    if sys.platform != "linux" or platform.machine() not in NUMBERS:
        return False
    code = _program(*NUMBERS[platform.machine()], CLONE[platform.machine()])
    kept = ctypes.create_string_buffer(code, len(code))
    about = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return libc.prctl(_SECCOMP, _FILTER, about, 0, 0) == 0


def _program(machine: int, calls: dict[str, int], clone: int) -> bytes:
    """Return the filter, which refuses another machine's calls and the listed ones, and allows all others."""
    last = len(calls) + 8  # lines before those that return: each comparison jumps there, past what lies between
    allow, refused, missing = last, last + 1, last + 2
    lines: list[tuple[int, int, int, int]] = []

    def where(code: int, value: int, yes: int | None = None, no: int | None = None) -> None:
        """Encode a comparison; None: the next line."""
        here = len(lines) + 1
        lines.append((code, 0 if yes is None else yes - here, 0 if no is None else no - here, value))

    where(_LOAD, _MACHINE)
    where(_EQUAL, machine, no=refused)
    where(_LOAD, _NUMBER)
    where(_AT_LEAST, _X32, yes=refused)
    for number in sorted(calls.values()):
        where(_EQUAL, number, yes=refused)
    where(_EQUAL, CLONE3, yes=missing)
    where(_EQUAL, clone, no=allow)
    where(_LOAD, _FIRST)
    where(_ANY_BIT, _NAMESPACES, yes=refused)
    lines += [(_RETURN, 0, 0, value) for value in (_ALLOW, _REFUSE, _MISSING)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
