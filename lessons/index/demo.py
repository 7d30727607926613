# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices-one-array
from minipod import devices, pictures

devices.simulate(8)

import jax
import jax.numpy as jnp

mesh = jax.make_mesh((2, 4), ("x", "y"))
where = jax.NamedSharding(mesh, jax.P("x", "y"))
x = jax.device_put(jnp.arange(32.0).reshape(4, 8), where)
pictures.sharding(x)

# %% what-its-sum-sends
from minipod import traffic

traffic.table(traffic.of(jnp.sum, x))

# %% who-waits
from minipod.cluster import run

run("save.py", check=False)

# %% planned-and-published
import json
from pathlib import Path

import minipod

lessons = Path(minipod.__file__).parents[1] / "lessons"
recorded = (lessons / "ch15_pods/published.json").read_text("utf-8")
wanted = {"model": "llama3", "kind": "decode", "length": 2048}
wanted["mesh"] = [1, 8, 2]
rows = json.loads(recorded)["rows"].values()
rows = [row for row in rows if wanted.items() <= row.items()]
kinds = "compute", "memory", "network"
planned = [[row["figures"][kind] for kind in kinds] for row in rows]
pictures.curve(
    {
        "planned: the sum": [1e3 * sum(times) for times in planned],
        "planned: the longest": [1e3 * max(times) for times in planned],
        "published": [1e3 * row["published"] for row in rows],
    },
    [row["batch"] for row in rows], "batch", "milliseconds", True, True,
)  # fmt: skip
