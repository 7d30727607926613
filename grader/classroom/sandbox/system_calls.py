"""System calls that no answer needs and that reach beyond a room: the kernel refuses them to it and to its children.

Keys outlive the room that made them, and a later one with the same user could read them; System V memory belongs to no
process, so that nobody's is counted. Sources: `man 2 seccomp`, `man 7 keyrings`, linux/filter.h, linux/audit.h.
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
        | {"ptrace": 101, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "perf_event_open": 298},
    ),
    "aarch64": (
        0xC00000B7,
        {"add_key": 217, "request_key": 218, "keyctl": 219, "shmget": 194, "semget": 190, "msgget": 186}
        | {"ptrace": 117, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "perf_event_open": 241},
    ),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: word at, ==, >=, return
_NUMBER, _MACHINE = 0, 4  # where struct seccomp_data has them
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_X32 = 0x40000000  # from here on the numbers of another way to call, on x86_64
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def refuse() -> bool:
    """Have them refused from now on; whether the kernel does so, which it cannot on a machine that is not listed."""
    if sys.platform != "linux" or platform.machine() not in NUMBERS:
        return False
    code = _program(*NUMBERS[platform.machine()])
    kept = ctypes.create_string_buffer(code, len(code))
    about = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return libc.prctl(_SECCOMP, _FILTER, about, 0, 0) == 0


def _program(machine: int, calls: dict[str, int]) -> bytes:
    """The filter: another machine's calls and those that are listed are refused, all others allowed."""
    refused = sorted(calls.values())
    last = len(refused)  # steps from the first comparison to the line that allows
    lines = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 0, last + 3, machine), (_LOAD, 0, 0, _NUMBER)]
    lines += [(_AT_LEAST, last + 1, 0, _X32)]
    lines += [(_EQUAL, last - n, 0, number) for n, number in enumerate(refused)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
