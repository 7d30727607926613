"""Reading a compiled program's text: its grammar (text), who talks to whom (groups), how often (loops), and the
collectives that follow (collectives). `minipod.traffic` is the door."""
