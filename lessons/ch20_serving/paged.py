"""A cache with room for the longest beside one of pages, as a picture."""

from minipod.drawing import Canvas

SIDE, GAP = 22.0, 60.0


def pages(lengths, page):
    """How many pages each sequence needs."""
    return [-(-n // page) for n in lengths]


def paged(lengths, longest, page):
    """Left a row for each sequence, with room for the longest; right one
    pool of as many pages as are needed. A cell is a page."""
    need, most = pages(lengths, page), longest // page
    canvas, tall = Canvas(), len(lengths) * SIDE
    for i, used in enumerate(need):
        for j in range(most):
            x, y = j * SIDE, i * SIDE
            if j < used:
                canvas.shard(x, y, SIDE, SIDE, i, 0)
            else:
                canvas.rect(x, y, SIDE, SIDE, "box", 0)
    # In a pool pages lie as they came: the sequences grew at the same time.
    order = [i for j in range(most) for i, n in enumerate(need) if j < n]
    left, rows = most * SIDE + GAP, len(lengths)
    for k, i in enumerate(order):
        canvas.shard(left + k // rows * SIDE, k % rows * SIDE, SIDE, SIDE, i, 0)
    wide = -(-len(order) // rows) * SIDE
    below = f"{rows * most} pages reserved", f"{len(order)} pages"
    canvas.text(most * SIDE / 2, tall + 16, below[0], "small")
    canvas.text(left + wide / 2, tall + 16, below[1], "small")
    said = ", ".join(map(str, need))
    return canvas.picture(
        f"A cache of {rows} sequences. Left: {most} pages reserved for each, "
        f"of which {said} are filled. Right: one pool of {len(order)} pages."
    )
