# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% another-order
from minipod.cluster import run

seeds = [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"}]
lied = run("order_of_a_set.py", env=seeds)
lied

# %% who-met-whom
import re

from minipod import pictures

pictures.calls([re.findall(r"w\d", text) for text in lied.outputs])

# %% order-sorted
run("order_sorted.py", env=seeds)

# %% own-longest
limits = {"collective_timeout": 3, "check": False}
run("own_longest.py", "8", "16", **limits)

# %% three-and-five
run("own_longest.py", "3", "5", **limits)

# %% a-hundred
long = run("own_longest.py", "100", "128", **limits)
print(long.first_failure)

# %% common-longest
run("common_longest.py", "8", "16")

# %% last-batch
stuck = run("last_batch.py", check=False)
stuck

# %% where
stuck.where()

# %% in-lanes
from lessons.ch12_pitfalls.lanes import lanes

pictures.play(lanes(stuck))

# %% with-a-timeout
run("last_batch.py", **limits)

# %% last-batch-together
run("last_batch_together.py")

# %% only-one-looks
crossed = run("only_one_looks.py", check=False, limit=12)
crossed.where()

# %% who-is-where
pictures.calls([["all-gather", "sum"], ["sum"]])

# %% all-look
run("all_look.py")

# %% own-decision
run("own_decision.py", **limits)

# %% common-decision
run("common_decision.py")

# %% late-log
late = run("late_log.py", check=False, limit=12)
late

# %% late-where
late.where()

# %% late-found
from lessons.ch12_pitfalls.reports import calls, own_frames

found = run("late_found.py", check=False, limit=18)
own_frames(found)

# %% late-calls
asked = [[name for name, line in calls(text)] for text in found.outputs]
pictures.calls([names[3:] for names in asked])

# %% py-spy
from lessons.ch12_pitfalls.reports import py_spy

print(py_spy())

# %% one-stalls
own_frames(run("one_stalls.py", check=False, limit=18))

# %% one-raises
run("raises.py", **limits)

# %% raises-together
run("raises_together.py")

# %% killed-suspended-slow
from minipod.cluster import summary

summary(
    {
        "process 1 is killed": run("dies.py", "1", "SIGKILL", **limits),
        "process 0 is killed": run("dies.py", "0", "SIGKILL", **limits),
        "process 1 is suspended": run("dies.py", "1", "SIGSTOP", **limits),
        "one is slow": run("only_slow.py", **limits),
    }
)

# %% survivors
run("survivors.py", survivors=True, **limits)

# %% own-seed
run("own_seed.py")

# %% model-across
run("model_across.py")

# %% own-seed-found
run("own_seed_found.py")

# %% guarded-order
run("guarded_order.py", env=seeds, check=False)

# %% guarded-others
summary(
    {
        "8 and 16 columns": run("guarded_widths.py", "8", "16", check=False),
        "one batch fewer": run("guarded_last_batch.py", check=False),
    }
)

# %% guard-cost
print(run("guard_cost.py").outputs[0])

# %% guard-costs
from lessons.ch12_pitfalls.reports import guard_costs

guard_costs()

# %% the-matrix
from lessons.ch12_pitfalls.faults import matrix

matrix()

# %% uneven-devices
run("uneven_devices.py", check=False)

# %% uneven-mesh
run("uneven_mesh.py")

# %% the-loop
from lessons.ch12_pitfalls.reports import incidents, numbered

print(numbered("incident.py", 32, 54))

# %% an-incident
from minipod.cluster.result import Where

asleep = incidents()[1]["reports"]
Where(["\n".join(text.splitlines()[-14:]) for text in asleep])
