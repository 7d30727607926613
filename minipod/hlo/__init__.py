"""Reading a compiled program's text: its grammar (text), what calls what (calls), who talks to whom (groups), how often
(loops), the collectives that follow (collectives), and which of them a product can hide (hiding). `minipod.traffic` is
the door."""
