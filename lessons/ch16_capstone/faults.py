"""What strikes at night, here on demand: NIGHT_FAULT="TERM@12"."""

import os
import signal
import time


def before(step):
    """Just before a step: a signal to this process, or sleep (SLOW, HANG)."""
    name, _, when = os.environ.get("NIGHT_FAULT", "@0").partition("@")
    if name == "SLOW" and step >= int(when):
        time.sleep(0.1)
    elif step == int(when):
        if name == "HANG":
            time.sleep(3600)
        os.kill(os.getpid(), signal.Signals[f"SIG{name}"])
