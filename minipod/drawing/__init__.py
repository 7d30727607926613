"""What pictures are drawn with, for a picture of one's own: a canvas of SVG, Graphviz (`minipod.drawing.graph`), grids,
lanes, axes, and the phrases in which a picture says what it shows. None of it needs JAX.

    canvas = Canvas()
    canvas.rect(0, 0, 80, 30, "tint device")
    canvas.picture("A device.")
"""

from minipod.drawing.svg import Canvas, Picture, text_width

__all__ = ["Canvas", "Picture", "text_width"]
