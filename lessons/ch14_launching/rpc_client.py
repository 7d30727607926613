"""Who this process is, by minipod's variables, for a program without JAX's."""

import os
import socket
import time

me = int(os.environ.get("MINIPOD_PROCESS", 0))
processes = int(os.environ.get("MINIPOD_PROCESSES", 1))


def until_it_answers(host: str, port: str, limit: float = 30.0) -> str:
    """`host:port` once somebody listens there. Raises OSError at the limit."""
    end = time.monotonic() + limit
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=limit).close()
            return f"{host}:{port}"
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
