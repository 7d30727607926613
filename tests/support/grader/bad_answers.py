"""What test_checker_bad_answers.py hands in: answers, files and solutions that break things; what is said of each."""

import os

FULL = "broken", "more than 0.5 GiB of memory"
LATE = "hung", "had not finished after 4 s"
REPLACED = "broken", "did your code replace something in Python, NumPy or JAX?"
# name: (the answer's body, or all of it; outcome; words of its message); the task: 2 * x of an f32[8] over 8 devices
BAD = {
    "syntax": ("def syntax(x)\n    return 2 * x", "broken", "not valid Python yet: expected"),
    "sleeps": ("time.sleep(1000)", "hung", ": time.sleep(1000)"),
    "leaves": ("os._exit(0)", "broken", "it was running your code (exit code 0)"),
    "exits": ("sys.exit('bye')", "broken", "ended the program (SystemExit bye)"),
    "crashes": ("os.kill(os.getpid(), 11)", "broken", "crashed or was killed while it was running your code (SIGSEGV)"),
    "prints": ("while True:\n        print('x' * 999)", "broken", "printed more than 10 MB"),
    "bomb": ("kept = []\n    while True:\n        kept.append(np.ones(10**7))", *FULL),
    "patched": ("jax.jit = None\n    jax.numpy.sum = abs\n    return 2 * x + jax.numpy.sum(x)", "wrong", " at [0]."),
    "unblocks": ("np.asarray = 0\n    return x", "broken", "could not be completed"),
    "shape": ("return (2 * x).sum()", "wrong", "The shape is not right."),
    "none": ("2 * x", "wrong", "does every path through your function return a value?"),
    "generator": ("yield 2 * x", "wrong", "a generator"),
    "placed": ("return jax.device_put(2 * x, jax.devices()[0])", "wrong", "device 0 holds everything instead of [0:1]"),
    "hosted": ("return 2 * np.asarray(x)", "wrong", "a NumPy array on"),
    "closes": ("os.closerange(3, 999)\n    return 2.0", "broken", "closed its connection to the checker"),
    "records": ("return np.rec.array([(1, 2.0)])", "wrong", "numpy.ndarray"),
    "subscripts": ("g = (v for v in x)\n    return g[0]", "wrong", "g = <generator object"),
    "times": ("raise RuntimeError('Timed out')", "wrong", "raised RuntimeError: Timed out"),
    "raises": ("return 2 * y", "wrong", "raised NameError: name 'y'"),
    "forks": (
        "if not os.fork():\n        os.setsid()\n        if os.fork():\n            os._exit(0)\n"
        "        time.sleep(1000)\n    return 3 * x",
        *("wrong", "The shape is right, but not all values are"),
    ),
    "half": ("print(1)\n    raise NotImplementedError('the rest')", "todo", ""),
    "gone": ("", "todo", "has no function gone"),
    "right": ("return jax.jit(lambda v: v + v, out_shardings=x.sharding)(x)", "right", ""),
}
# What harms more: its own file, streams, Python, NumPy, JAX, the process that checks it.
WILD = {
    "stubborn": (
        "for n in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "        signal.signal(n, signal.SIG_IGN)\n    while True:\n        pass",
        *LATE,
    ),
    "pauses": ("os.kill(os.getpid(), signal.SIGSTOP)", *LATE),
    "at_exit": ("atexit.register(time.sleep, 99)\n    return 2 * x", "right", ""),
    "reads": ("return float(input()) * x", "wrong", "EOFError: EOF when reading a line"),
    "thread": ("threading.Thread(target=time.sleep, args=(99,)).start()\n    return 2 * x", "right", ""),
    "crowd": ("for _ in range(20):\n        os.fork() or time.sleep(99)\n    return 2 * x", "right", ""),
    "ten_gb": ("return jax.numpy.ones(10 * 2**28)", *FULL),
    "endless_shape": (
        "return np.broadcast_to(np.float32(0), (10**12,))",
        *("wrong", "ValueError: an array of 4,000,000,000,000 bytes came back"),
    ),
    "no_size": ("return np.zeros((10**15, 0), np.float32)", "wrong", "The shape is not right."),
    "digits": ("return 10**5000", "broken", "could not be completed"),
    "elsewhere": ("os.chdir(tempfile.mkdtemp())\n    os.rmdir(os.getcwd())\n    return 2 * x", "right", ""),
    "environment": ("os.environ.clear()\n    sys.path.clear()\n    return 2 * x", "right", ""),
    "modules": ("sys.modules.clear()\n    return 2 * x", "broken", ""),
    "closed_stdout": ("sys.stdout.close()\n    os.closerange(1, 3)\n    return 2 * x", "right", ""),
    "scribbles": (
        "for fd in range(3, 99):\n        with contextlib.suppress(OSError):\n"
        "            os.write(fd, b'{}\\n')\n    return 2 * x",
        *("broken", "damaged on its way to the checker"),
    ),
    "floods": (
        "there = [fd for fd in range(3, 99) if os.path.exists(f'/proc/self/fd/{fd}')]\n    while True:\n"
        "        for fd in there:\n            with contextlib.suppress(OSError):\n"
        "                os.write(fd, bytes(10**6))",
        *("broken", "100 MB"),
    ),
    "no_exit": ("os._exit = os.write = json.dumps = time.sleep = None\n    return 2 * x", "right", ""),
    "forged": ('json.JSONEncoder.encode = lambda *_: \'{"status": "ok", "value": {}}\'\n    return 2 * x', *REPLACED),
    "no_errors": ("builtins.BaseException = builtins.Exception = None\n    return 1 / 0", *REPLACED),
    "joins": ("jax.distributed.initialize('127.0.0.1:1', 2, 1, initialization_timeout=1)", "wrong", "RuntimeError"),
    "uncached": ("jax.clear_caches()\n    return 2 * x", "right", ""),
    "double_precision": ("jax.config.update('jax_enable_x64', True)\n    return 2 * x", "wrong", "jax_enable_x64"),
    "endless_repr": (
        "class Evil:\n    def __repr__(self):\n        while True:\n            pass\n\n"
        "    def __eq__(self, other):\n        while True:\n            pass\n\ndef endless_repr(x):\n"
        "    return Evil()",
        *LATE,
    ),
    "half_a_character": ("raise ValueError('\\ud800 and \\x1b[2J')", "wrong", "ValueError: \ufffd and \ufffd[2J"),
    "shadowed": ("def shadowed(x):\n    return 2 * x\n\nglobals()['shadowed'] = 3", "wrong", "not callable"),
    "deep_in_c": ("a = ()\n    for _ in range(10**6):\n        a = (a,)\n    return hash(a)", "broken", "SIGSEGV"),
    "itself": ("a = []\n    a.append(a)\n    return a", "wrong", "list"),
    "coroutine": ("async def coroutine(x):\n    return 2 * x", "wrong", "coroutine"),
    "parens": ("return " + "(" * 9000 + ")" * 9000, "broken", "too many nested parentheses"),
    "nulls": ("return '\x00'", "broken", "null bytes"),
}
# In two processes, of which 0 asks the other (`together`) where it would wait for it; the task: 2 * n of a number.
PAIRS = {
    "together": ("def together(n):\n    return float(process_allgather(np.float32(n))[0] * 2)", "right", ""),
    "one_exits": ("if jax.process_index():\n        os._exit(3)", "broken", "exit code 3"),
    "one_hangs": ("while jax.process_index():\n        pass", "hung", "8 s"),
    "both_hang": ("time.sleep(99)", "hung", "8 s"),
    "one_fills_memory": ("k = [together(n)]\n    while jax.process_index():\n        k.append(np.ones(10**7))", *FULL),
    "one_quits": ("together(n)\n    if jax.process_index():\n        sys.exit('bye')", "broken", "SystemExit bye"),
    # It waits for the other to do the same, and JAX gives up.
    "one_shuts_down": (
        "if jax.process_index():\n        jax.distributed.shutdown()\n    return 2 * n",
        "broken",
        "SIGABRT",
    ),
    "leaves_children": ("if not os.fork():\n        os.setsid()\n        time.sleep(99)", "right", ""),
}
TOP = """import atexit, builtins, contextlib, json, os, signal, sys, tempfile, threading, time
import jax
import numpy as np
from jax.experimental.multihost_utils import process_allgather

"""
GOOD = "def only(x):\n    return 2 * x\n"
# an answers file, or what makes one: what is said of it
FILES = {
    "stops": (f"1 / 0\n{GOOD}", "broken", "fails on import: ZeroDivisionError: division by zero"),
    "asserts": (f"raise AssertionError\n{GOOD}", "broken", "fails on import: AssertionError\n"),
    "quits": (f"import sys\nsys.exit(2)\n{GOOD}", "broken", "ends the program on import (SystemExit 2)"),
    "spoils": (f"import jax\njax.jit = jax.Array = None\n{GOOD}", "broken", "could not be completed"),
    "binary": ("\udcff\udcfe\x00", "broken", "cannot be read"),
    "nosuch": (f"# coding: nosuch\n{GOOD}", "broken", "cannot be read"),
    "punycode": (f"# coding: punycode\n{GOOD}", "broken", "cannot be read"),
    "declared": (f"# coding: latin-1\n\udce9 = 1\n{GOOD}", "right", ""),
    "bom": (f"\ufeff{GOOD}", "right", ""),
    "empty": ("", "todo", "has no function only"),
    "large": ("#" * 250_000 + f"\n{GOOD}", "broken", "it is larger than 200 kB"),
    "folder": (os.mkdir, "broken", "this is not a file"),
    "fifo": (os.mkfifo, "broken", "this is not a file"),
    "loop": (lambda path: os.symlink(path, path), "broken", "Too many levels of symbolic links"),
}
# how a solution ends on this machine: its last words
ENDS = {
    "os._exit(3)": "exit code 3: the last words",
    "os.abort()": "SIGABRT: the last words",
    "raise MemoryError('no more')": "MemoryError: no more (raise MemoryError('no more'))",
    "raise ImportError('libfoo.so: wrong ELF class')": "ImportError: libfoo.so: wrong ELF class (raise ImportError(",
    "time.sleep(1000)": "TimeoutError: 4 s (ch97_ends4.py, line 5 in only)",
}
BLANK = "def only(x):\n    raise NotImplementedError\n"
FAULTY = ["def only(x):\n    return 3 * x\n", "def other(x):\n    pass\n", "def only(x)\n", BLANK]  # solutions
