"""What strikes at night, here on demand: NIGHT_FAULT="TERM@12"."""

import os
import resource
import signal
import time


def before(step):
    """Just before a step of this process.

    TERM, KILL, STOP: the signal. SLOW: from then on a step takes 0.1 s more.
    HANG: it never goes on. FULL: no file of this process grows beyond 100
    bytes, as if the disk were full.
    """
    name, _, when = os.environ.get("NIGHT_FAULT", "@0").partition("@")
    if name == "SLOW" and step >= int(when):
        time.sleep(0.1)
    elif step != int(when):
        return
    elif name == "HANG":
        time.sleep(3600)
    elif name == "FULL":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    else:
        os.kill(os.getpid(), signal.Signals[f"SIG{name}"])
        time.sleep(2)  # JAX looks for SIGTERM once a second
