"""Checkpoints in Orbax: parameters, optimiser, and where in the data we stand; whole or not at all.

They are read onto any mesh, by any number of processes.
"""

import os
from typing import Any

import orbax.checkpoint as ocp

from byte_lm import Unusable


class Checkpoints:
    """Those in a folder, or a bucket (gs://…), that all processes share: the last two. Use it in a `with`."""

    def __init__(self, folder: str):
        options = ocp.CheckpointManagerOptions(max_to_keep=2)
        self._manager = ocp.CheckpointManager(folder if "://" in folder else os.path.abspath(folder), options=options)

    def save(self, step: int, state: Any, position: int, made_by: dict[str, Any]) -> None:
        """Copy the state and write it in the background. made_by: settings without which nobody can go on."""
        rest = {"position": position, "made_by": made_by}
        both = ocp.args.Composite(state=ocp.args.StandardSave(state), rest=ocp.args.JsonSave(rest))
        self._manager.save(step, args=both)

    def newest(self, like: Any, made_by: dict[str, Any]) -> tuple[int, Any, int] | None:
        """(step, state, position) of the newest; None where there is none.

        like: the state's shapes, dtypes and shardings. Unusable where other settings made it.
        """
        step = self._manager.latest_step()
        if step is None:
            return None
        rest = self._manager.restore(step, args=ocp.args.Composite(rest=ocp.args.JsonRestore()))["rest"]
        for name, value in made_by.items():
            if (was := rest["made_by"].get(name)) != value:
                raise Unusable(f"the checkpoints there were made with {name} {was}, not {value}: take another folder")
        state = ocp.args.Composite(state=ocp.args.StandardRestore(like))
        return step, self._manager.restore(step, args=state)["state"], rest["position"]

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.close()  # waits until all is written
