"""Draw your own pictures: an SVG canvas, Graphviz (`minipod.drawing.graph`), grids, wiring, axes, and the phrases in
which a picture describes itself. None of them needs JAX.

    canvas = Canvas()
    canvas.rect(0, 0, 80, 30, "tint device")
    canvas.picture("A device.")
"""

from minipod.drawing.svg import Canvas, Picture, text_width

__all__ = ["Canvas", "Picture", "text_width"]
