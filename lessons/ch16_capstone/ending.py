"""How a process leaves when it cannot go on: with one sentence."""

import logging
import os
import re
import sys
import time
from contextlib import contextmanager

import jax

PERSON = 2  # the exit status that says: a person must look
LOST = 1  # another process has gone: start me again


def leave(sentence, status):
    """Say it and end at once: `sys.exit` would wait for the others."""
    print(f"process {jax.process_index()}: {sentence}", flush=True)
    # Process 0 goes last: without it JAX ends the others, with much ado.
    time.sleep(1 if jax.process_index() else 2)
    os._exit(status)


@contextmanager
def one_sentence(what):
    """Leave with a sentence where Orbax would print fifty lines."""
    stderr, sys.stderr = sys.stderr, None  # what its threads print
    logging.disable(logging.ERROR)
    try:
        yield
    except Exception as error:  # of many types: the disk's, the format's
        words = re.sub(r" \[(tensorstore|os_error)(.|\n)*", "", str(error))
        lost = isinstance(error, jax.errors.JaxRuntimeError)
        sentence = f"{what} ({type(error).__name__}: {words.split(': ')[-1]})"
        leave(sentence, LOST if lost else PERSON)
    finally:
        sys.stderr = stderr
        logging.disable(logging.NOTSET)
