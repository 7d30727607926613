"""Reading a compiled program's text: its grammar (text), what calls what (calls), who talks to whom (groups), how often
(loops), and the collectives that follow (collectives). `minipod.traffic` is the door."""
