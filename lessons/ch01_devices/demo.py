# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% list-devices
import time

from minipod import devices, pictures
from minipod.expect import expect_error

devices.simulate(8)

import jax
import jax.numpy as jnp

print(jax.devices())

# %% picture-devices
pictures.devices()

# %% a-device
cpu = jax.devices()[3]
print("id", cpu.id, "| platform", cpu.platform, "| kind", cpu.device_kind)
print("process", cpu.process_index, "of", jax.process_count())

# %% local-and-global
print(jax.device_count(), "in all,", jax.local_device_count(), "local")
print(jax.local_devices() == jax.devices())


# %% one-program
def double(number):
    return 2 * number


numbers = jnp.arange(8.0)
print(jax.pmap(double)(numbers))

# %% picture-one-program
pictures.flow(double, numbers)

# %% who-has-it
x = jnp.arange(6.0)
print(x.devices(), "|", x.sharding)
there = jax.device_put(x, jax.devices()[3])
print(there.devices(), "| computed there:", (there + 1).devices())

# %% committed
print("x:    ", x.committed, x.devices())
print("there:", there.committed, there.devices())
print("x + there lies on", (x + there).devices())

# %% two-owners
elsewhere = jax.device_put(x, jax.devices()[5])
with expect_error(ValueError, "incompatible devices"):
    there + elsewhere

total = there + jax.device_put(elsewhere, jax.devices()[3])
print(total.devices())

# %% default-device
with jax.default_device(jax.devices()[2]):
    made = jnp.ones(3)

print("made on", made.devices(), "committed:", made.committed)
print("doubled on", jax.jit(lambda a: 2 * a)(made).devices())

# %% immutable
with expect_error(TypeError, "immutable"):
    x[0] = 7.0

changed = x.at[0].set(7.0)
print("x:", x[:3], "changed:", changed[:3])

# %% dispatch
square = jax.jit(lambda a: a @ a @ a)
a = jnp.ones((1000, 1000))
square(a).block_until_ready()  # compiles

start = time.perf_counter()
result = square(a)
returned = time.perf_counter()
result.block_until_ready()
ready = time.perf_counter()
print(f"the call returned after {1000 * (returned - start):8.2f} ms")
print(f"the result was there at {1000 * (ready - start):8.2f} ms")

# %% a-promise
promise = square(a)
ready = promise.is_ready()
twice = 2 * promise  # passed on as it is, without a wait
print("its shape:", promise.shape, "| ready:", ready)
print("one of the numbers:", float(twice[0, 0]))  # this waits
print("ready:", promise.is_ready())

# %% recorded-dispatch
from lessons.ch01_devices.recorded import queued

pictures.play(queued(steps=4))

# %% picture-in-time
from lessons.ch01_devices.in_time import in_time

in_time(host=1, device=2, steps=4)

# %% queue-cost
from concurrent.futures import ThreadPoolExecutor


def train(steps, host, device, wait):
    with ThreadPoolExecutor(max_workers=1) as queue:  # one worker, in order
        start = time.perf_counter()
        for _ in range(steps):
            time.sleep(host / 1000)  # the host prepares a batch
            result = queue.submit(time.sleep, device / 1000)
            if wait:
                result.result()
        result.result()
        return 1000 * (time.perf_counter() - start)


# %% queue-measured
n, h, d = 4, 100, 200  # steps, milliseconds, milliseconds
formula = {True: n * (h + d), False: n * max(h, d) + min(h, d)}
for wait, way in (True, "wait in every step"), (False, "wait at the end"):
    took = train(n, h, d, wait)
    print(f"{way:18} {took:5.0f} ms, by the formula {formula[wait]:4}")

# %% too-late
with expect_error(RuntimeError, "before backends are initialized"):
    jax.config.update("jax_num_cpu_devices", 16)

# %% then-tpu
first = jax.devices()[0]
print(repr(first), "| has coordinates:", hasattr(first, "coords"))

# %% ask-python
import os
import subprocess
import sys


def fresh(code, **variables):
    """What a new Python says to this code, with these variables set."""
    env = os.environ | {"JAX_PLATFORMS": "cpu"} | variables
    run = [sys.executable, "-c", "import jax\n" + code]
    done = subprocess.run(run, env=env, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[0]


count = "print(len(jax.devices()))"
flag = "--xla_force_host_platform_device_count=4"
print("nothing said:       ", fresh(count))
print("XLA_FLAGS:          ", fresh(count, XLA_FLAGS=flag))
print("JAX_NUM_CPU_DEVICES:", fresh(count, JAX_NUM_CPU_DEVICES="6"))
setting = "jax.config.update('jax_num_cpu_devices', 8)\n"
print("jax.config.update:  ", fresh(setting + count))

# %% two-at-once
print(fresh(count, XLA_FLAGS=flag, JAX_NUM_CPU_DEVICES="6"))
print(fresh(setting + count, XLA_FLAGS=flag, JAX_NUM_CPU_DEVICES="6"))

# %% too-late-to-say
late = """
print(len(jax.devices()))
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
print(len(jax.devices()))
"""
print(fresh(late))

# %% a-dash
pasted = "-–xla_force_host_platform_device_count=8"
print([f"{ord(sign):x}" for sign in pasted[:2]])
print(fresh(count, XLA_FLAGS=pasted).partition("] ")[2])
