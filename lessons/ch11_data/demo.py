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

# %% write-the-files
from pathlib import Path

import numpy as np

from minipod.cluster import run

rng = np.random.default_rng(11)
files = {}
for k, rows in enumerate((9, 4, 12, 3, 6)):
    files[f"part-{k}.npy"] = np.float32(rng.integers(-3, 4, (rows, 4)))
Path("data").mkdir(exist_ok=True)
Path("data/index.txt").write_text("\n".join(files))
for name, part in files.items():
    np.save(f"data/{name}", part)
print([len(part) for part in files.values()], "rows")

# %% shares
run("shares.py", processes=2, devices=4)

# %% shares-of-four
run("shares.py", processes=4, devices=2)

# %% four-ways
run("four_ways.py", processes=2, devices=4)

# %% picture-rows
from minipod import pictures

pictures.load("rows.svg")

# %% agree
run("agree.py", processes=2, devices=4)

# %% uneven
run("uneven.py", processes=2, devices=4)

# %% uneven-for-four
run("uneven.py", processes=4, devices=2)

# %% alone-with-numpy
table = np.concatenate(list(files.values()))
squares = (table[:, :3] @ np.float32([1, -2, 3]) - table[:, 3]) ** 2
total = float(squares.sum())
print("loss", total / len(table), "of", len(table), "rows")

# %% dice-of-two
run("dice.py", processes=2, devices=4)

# %% dice-of-four
run("dice.py", processes=4, devices=2)

# %% numbers-to-learn
import shutil

shutil.rmtree("runs", ignore_errors=True)  # an earlier reading of this page
x = rng.normal(size=(4096, 8))
y = np.sin(x[:, :1] + x[:, 1:2])  # what the model is to guess
np.save("data/train.npy", np.float32(np.concatenate([x, y], axis=1)))

# %% uninterrupted
run("train.py", "runs/whole", "30", processes=2, devices=4)

# %% stopped
run("train.py", "runs/stopped", "10", processes=2, devices=4)

# %% a-copy-for-each
for copy in ("two", "four", "one"):
    shutil.copytree("runs/stopped", f"runs/{copy}", dirs_exist_ok=True)
written = Path("runs/stopped/10/default").glob("ocdbt.process_*")
print(sorted(folder.name for folder in written))

# %% goes-on-with-two
run("train.py", "runs/two", "30", processes=2, devices=4)

# %% goes-on-with-four
run("train.py", "runs/four", "30", processes=4, devices=2)

# %% goes-on-with-one
run("train.py", "runs/one", "30", processes=1, devices=1)

# %% picture-losses
import json

names = ("whole", "two", "four", "one")
curves = {n: json.loads(Path(f"runs/{n}.json").read_text()) for n in names}
pictures.curve(
    {"never stopped": curves["whole"], "on one device": curves["one"]},
    range(1, 31),
)

# %% to-the-bit
whole = np.array(curves["whole"])
for name in ("two", "four", "one"):
    apart = np.abs(np.array(curves[name]) / whole - 1)[10:]
    print(f"{name:4} {len(apart)} steps, at most {apart.max():.0e} apart")

# %% loader-whole
without_end = run("goes_on.py", "runs/loader", "8", "used")
without_end

# %% loader-goes-on
run("goes_on.py", "runs/loader-stopped", "4", "used")
later = run("goes_on.py", "runs/loader-stopped", "8", "used")
for before, after in zip(without_end.outputs, later.outputs, strict=True):
    print(before.splitlines()[4:] == after.splitlines())

# %% loader-skips
run("goes_on.py", "runs/loader-skips", "4", "read")
run("goes_on.py", "runs/loader-skips", "8", "read")

# %% the-comparison
run("compared.py", processes=2, devices=4)

# %% not-the-same
run("not_the_same.py", processes=2, devices=4)

# %% half-a-part
run("half_a_part.py", processes=2, devices=4)

# %% same-part
run("same_part.py", processes=2, devices=4)


# %% mean-of-means
def mean(loss):  # whole numbers: their sum is exact
    return float(loss.sum()) / len(loss)


deals = ("part-0 part-2 part-4".split(), "part-1 part-3".split())
means = []
for deal in deals:
    x = np.concatenate([files[f"{name}.npy"] for name in deal])
    means.append(mean((x[:, :3] @ np.float32([1, -2, 3]) - x[:, 3]) ** 2))
    print("a process with", len(x), "rows:", means[-1])
print("the mean of these", np.mean(means), "of all", mean(squares))

# %% a-file-is-missing
Path("data/part-1.npy").unlink()
run("shares.py", processes=2, devices=4, check=False)

# %% half-a-checkpoint
for file in Path("runs/two/30/default/d").iterdir():
    file.write_bytes(file.read_bytes()[:100])
run("train.py", "runs/two", "40", processes=2, devices=4, check=False)

# %% too-wide
run("too_wide.py", processes=2, devices=4)

# %% gathered-alone
run("agree.py", processes=1, devices=8)
