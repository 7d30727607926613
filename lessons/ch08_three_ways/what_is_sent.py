"""What the compilers make of found.py: a line for each program."""

from lessons.ch08_three_ways.found import PROGRAMS, compiled
from minipod import traffic
from minipod.hlo import hiding, text


def report(mesh, compiled=compiled) -> str:
    """The collectives of each program, the bytes that a device sends, and how
    many of the collectives in the text have a product to hide behind."""
    lines = [f"{'program':21}{'sent':>13}  hidden  collectives"]
    for name in PROGRAMS:
        program = compiled(name, mesh)
        bill = traffic.read(program, mesh)
        kinds = {
            op: sum(c.times or 0 for c in bill if c.op == op)
            for op in sorted({c.op for c in bill})
        }
        alone = len(hiding.exposed(text.parse(program)))
        hidden = f"{len(bill) - alone} of {len(bill)}"
        said = ", ".join(f"{n} {op}" for op, n in kinds.items())
        total = f"{traffic.total(bill):,}"
        lines.append(f"{name:21}{total:>13}  {hidden}  {said}")
    return "\n".join(lines)
