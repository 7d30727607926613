# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# A script leaves nothing behind: it runs in a folder that goes when it ends.
import atexit
import os
import shutil
import tempfile

os.chdir(scratch := tempfile.mkdtemp())
atexit.register(shutil.rmtree, scratch, ignore_errors=True)

# %% say-hello
from minipod.cluster import run

run("hello.py", processes=2, devices=4)

# %% one-process
run("hello.py", processes=1, devices=8)

# %% by-hand
from minipod.processes import free_port

address = f"127.0.0.1:{free_port()}"
run("by_hand.py", address, processes=2, devices=2)

# %% draw-hosts
run("draw_hosts.py", processes=2, devices=4)

# %% picture-hosts
from minipod import pictures

pictures.load("hosts.svg")

# %% psum-by-pmap
run("psum_pmap.py", processes=2, devices=4)

# %% psum-by-shard-map
run("psum_shard_map.py", processes=2, devices=4)

# %% same-program-alone
run("psum_shard_map.py", processes=1, devices=8)

# %% the-bill
run("bill.py", processes=2, devices=4)

# %% only-one-sums
run("only_one_sums.py", processes=2, devices=4, check=False)

# %% all-sum-one-prints
run("all_sum.py", processes=2, devices=4)

# %% one-missing
run("one_missing.py", processes=2, devices=4, check=False)

# %% behind-proxy
run("behind_proxy.py", "", processes=2, devices=1, check=False)

# %% no-proxy
run("behind_proxy.py", "127.0.0.1", processes=2, devices=1)

# %% initialized-too-late
run("too_late.py", processes=2, devices=4)

# %% print-a-global-array
run("print_global.py", processes=2, devices=4)
