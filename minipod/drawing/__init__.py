"""Draw your own pictures: with an SVG canvas, Graphviz (`minipod.drawing.graph`), grids, wiring and axes.

None of these needs JAX.

    canvas = Canvas()
    canvas.rect(0, 0, 80, 30, "tint device")
    canvas.picture("A device.")
"""

from minipod.drawing.svg import Canvas, Picture, text_width

__all__ = ["Canvas", "Picture", "text_width"]
