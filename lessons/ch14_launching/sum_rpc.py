import os
import sys
import threading
from socketserver import ThreadingMixIn
from xmlrpc.client import ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

import jax.numpy as jnp

from minipod.processes import wait_for_listener

address, host, port = sys.argv[1], *sys.argv[1].split(":")
me = int(os.environ["MINIPOD_PROCESS"])  # no jax.distributed here, either
processes = int(os.environ["MINIPOD_PROCESSES"])
parts, all_came = {}, threading.Barrier(processes)


class Server(ThreadingMixIn, SimpleXMLRPCServer):
    """A thread for each call; closing waits for the last answer."""


def add(process, part):  # runs in process 0, whoever calls it
    parts[process] = part
    all_came.wait(timeout=30)
    return sum(parts.values())


if me == 0:
    server = Server((host, int(port)), logRequests=False)
    server.register_function(add)
    threading.Thread(target=server.serve_forever).start()

mine = 4.0 * me + jnp.arange(4.0)
wait_for_listener(address, 30)
total = ServerProxy(f"http://{address}").add(me, float(mine.sum()))
print("brought", mine, "total", total)

if me == 0:
    server.shutdown()
    server.server_close()
