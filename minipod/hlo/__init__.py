"""Reading a compiled program's text: its grammar (text), what calls what (calls), who talks to whom (groups), how often
(values, loops), and the collectives (ops) that follow (collectives); how much it computes (products, kernels) and moves
(memory, fusions), and both over the whole program (work); what it computes while a collective is under way (overlap),
and what it could, whatever the schedule (hiding); how long it takes by its own schedule (timeline, clock).
`minipod.traffic` and `minipod.pods` are the doors."""
