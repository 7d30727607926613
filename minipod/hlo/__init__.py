"""Reading a compiled program's text: its grammar (text), what calls what (calls), who talks to whom (groups), how often
(loops), what a ring sends (ring), and the collectives that follow (collectives); how much it computes and moves (work);
which collectives a product could hide (hiding), and what is computed while one is under way (overlap).
`minipod.traffic` and `minipod.pods` are the doors."""
