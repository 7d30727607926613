"""Read the text of a compiled program (HLO). `minipod.traffic` and `minipod.pods` are the public interface.

- text, calls: the grammar, and which computation calls which
- groups, scalars, loops, ops, collectives, between_slices: the collectives, their groups, how often they run
- products, kernels, memory, fusions, work: FLOPs, and bytes to and from memory
- overlap, hiding: what is computed while a collective runs, and what could be
- timeline, clock: how long the program takes by its own schedule
"""
