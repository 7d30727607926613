"""An answers file full of functions that try to break the checker. The task of each: 2 * x of an f32[8] over 8 devices.

What each must lead to stands in unbreakable_cases.py, under the same name.
"""

import atexit
import builtins
import ctypes
import faulthandler
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import jax
import jax.extend
import numpy as np


def right(x):
    return x + x


# ---- it ends, or will not end ----


def segfault(x):
    ctypes.string_at(0)


def aborts(x):
    os.abort()


def alarm(x):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(99)


def terminates(x):
    os.kill(os.getpid(), signal.SIGTERM)


def interrupts(x):
    signal.raise_signal(signal.SIGINT)


def stubborn(x):
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def pauses(x):
    os.kill(os.getpid(), signal.SIGSTOP)


def watchdog(x):
    faulthandler.dump_traceback_later(0.1, exit=True)
    time.sleep(99)


def faults(x):
    faulthandler.enable()
    faulthandler.unregister(signal.SIGUSR1)
    return 2 * x


def at_exit(x):
    atexit.register(time.sleep, 99)
    return 2 * x


def deep_in_c(x):
    nested = ()
    for _ in range(10**6):
        nested = (nested,)
    return hash(nested)


def reads(x):
    return float(input()) * x


def speechless(x):
    class Speechless(Exception):
        def __str__(self):
            raise self

    raise Speechless


def kills_parent(x):
    os.kill(os.getppid(), signal.SIGKILL)


# ---- it leaves something behind ----


def thread(x):
    threading.Thread(target=time.sleep, args=(99,)).start()
    return 2 * x


def daemon(x):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
    return 2 * x


def starts(x):
    subprocess.Popen(["sleep", "99"], start_new_session=True)
    return 2 * x


def crowd(x):
    for _ in range(20):
        if not os.fork():
            time.sleep(99)
    return 2 * x


def outlived(x):
    if not os.fork():
        os.setsid()
        time.sleep(99)
    os._exit(7)


# ---- too much ----


def ten_gb(x):
    return np.ones(10 * 2**30, np.int8)


def ten_gb_of_jax(x):
    return jax.numpy.ones(10 * 2**28)


def endless_shape(x):
    return np.broadcast_to(np.float32(0), (10**12,))


def no_size(x):
    return jax.numpy.zeros((0, 10**9))


def no_size_of_numpy(x):
    return np.zeros((10**15, 0), np.float32)


def nested(x):
    value = []
    for _ in range(10**5):
        value = [value]
    return value


def itself(x):
    value = []
    value.append(value)
    return value


def digits(x):
    return 10**5000


# ---- it changes its surroundings ----


def elsewhere(x):
    os.chdir(tempfile.mkdtemp())
    os.rmdir(os.getcwd())
    return 2 * x


def environment(x):
    os.environ.clear()
    sys.path.clear()
    return 2 * x


def modules(x):
    sys.modules.clear()
    return 2 * x


def no_stdout(x):
    sys.stdout = sys.stderr = None
    return 2 * x


def closed_stdout(x):
    sys.stdout.close()
    os.closerange(1, 3)
    return 2 * x


def scribbles(x):
    for fd in range(3, 99):
        try:
            os.write(fd, b"{}\n")
        except OSError:
            pass
    return 2 * x


def floods(x):
    open_ones = [fd for fd in range(3, 99) if os.path.exists(f"/proc/self/fd/{fd}")]
    while True:
        for fd in open_ones:
            try:
                os.write(fd, bytes(10**6))
            except OSError:
                pass


def deletes_itself(x):
    pathlib.Path(__file__).unlink(missing_ok=True)
    return 2 * x


# ---- it changes Python, NumPy or JAX ----


def no_exit(x):
    os._exit = os.write = json.dumps = time.sleep = None
    return 2 * x


def no_encoder(x):
    json.JSONEncoder.encode = None
    return 2 * x


def forged(x):
    json.JSONEncoder.encode = lambda *_: '{"status": "ok", "value": {}}'
    return 2 * x


def half_forged(x):
    json.JSONEncoder.encode = lambda *_: '{"status": 3}'
    return 2 * x


def no_errors(x):
    builtins.BaseException = builtins.Exception = None
    return 1 / 0


def no_builtins(x):
    value = 2 * x
    for name in ("len", "isinstance", "open", "print", "type", "getattr"):
        setattr(builtins, name, None)
    return value


def no_numpy(x):
    vars(np).update(asarray=None, ndarray=None, ravel=None)
    return 2 * x


def no_jax(x):
    value = 2 * x
    vars(jax).clear()
    return value


def device_count(x):
    jax.config.update("jax_num_cpu_devices", 4)
    return 2 * x


def flags(x):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    return 2 * x


def joins(x):
    jax.distributed.initialize("127.0.0.1:1", 2, 1, initialization_timeout=1)
    return 2 * x


def cleared(x):
    jax.extend.backend.clear_backends()
    return 2 * x


def uncached(x):
    jax.clear_caches()
    return 2 * x


def double_precision(x):
    jax.config.update("jax_enable_x64", True)
    return 2 * x


# ---- what it returns or raises ----


async def coroutine(x):
    return 2 * x


class Evil:
    def __repr__(self):
        raise OSError("no repr")

    def __eq__(self, other):
        while True:
            pass

    __len__ = __array__ = __bool__ = __eq__


def no_repr(x):
    return Evil()


class Endless(Evil):
    def __repr__(self):
        while True:
            pass


def endless_repr(x):
    return Endless()


class Silent(Evil):
    def __repr__(self):
        return "silent"

    def __call__(self):
        pass


def endless_eq(x):
    return Silent()


def oddly_named(x):
    odd = Silent()
    odd.__name__ = {"a": [1]}
    return odd


def half_a_character(x):
    raise ValueError("\ud800 and \x1b[2J")


def record(x):
    return np.zeros(8, [("a", "f4")])


def escape(x):
    r"""Raw here; the copy that is checked says it without the r: \d."""
    return 2 * x


def shadowed(x):
    return 2 * x


globals()["shadowed"] = 3
