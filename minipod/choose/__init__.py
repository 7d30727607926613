"""Compare layouts of a model of a given size: what each device holds and sends, and how long a step takes.

All figures come from formulas; nothing is compiled. `design` evaluates one layout of up to six mesh axes; `choices`
tries the layouts of data, fsdp and tensor on a slice.

    >>> from minipod import choose
    >>> of = choose.SHAPES["llama_8b"].model(rows=128, length=2048)
    >>> made = choose.design(of, "v5p:4x4x4", fsdp=16, tensor=4)
    >>> made.seconds.bound, f"{made.seconds.compute:.2f} s"
    ('compute', '0.50 s')
"""

from minipod.choose.choices import Choice, choices, summary, table
from minipod.choose.designs import AXES, Design, Message, design
from minipod.choose.models import SHAPES, Model, Shape, model

__all__ = [
    "AXES", "SHAPES", "Choice", "Design", "Message", "Model", "Shape", "choices", "design", "model", "summary", "table",
]  # fmt: skip
