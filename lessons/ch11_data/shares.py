import jax
from dataset import load_mine, my_files

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

mine = load_mine("data")
print(*[file.name for file in my_files("data")], ":", len(mine), "rows")
