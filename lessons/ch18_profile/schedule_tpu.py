"""In which order a TPU runs three layers: gathers, products, and what is
under way meanwhile."""

from layers import rows_13

from minipod import pods
from minipod.hlo.calls import called
from minipod.hlo.collectives import begins, part_of
from minipod.hlo.products import products
from minipod.hlo.text import parse


def report(ask, version):
    """A line for each gather and each product, as they stand in the text."""
    text = ask(*_program())["text"]
    program = parse(text)
    entry = program.computations[program.entry]
    lines = [f"8 chips of TPU v5e, libtpu {version}; in the text's own order:"]
    number, under_way = 0, False  # one gather at a time
    for line in entry.values():
        inside = [
            program.computations[name]
            for names in called(program, entry, line).values()
            for name in names
        ]
        part = next((p for c in inside if (p := part_of(c))), "")
        lasts = any(products(c, i)[1] for c in inside for i in c.values())
        said = ""
        if begins(line) or part == "start":
            number += 1
            under_way = part == "start"
            said = "starts" if under_way else "runs, and nothing else"
        elif part == "done":
            under_way, said = False, "is done"
        if said:
            lines.append(f"{line.name:26} gather {number} {said}")
        elif lasts:
            more = f", while gather {number} is under way"
            product = f"    a product{more if under_way else ''}"
            lines.append(f"{line.name:26} {product}")
    return "\n".join(lines)


def _program():
    function, arguments = rows_13(pods.mesh("v5e:2x4", data=8))
    return function, *arguments
