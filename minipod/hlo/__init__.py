"""Reading a compiled program's text: its grammar (text), what calls what (calls), who talks to whom (groups), how often
(loops), and the collectives that follow (collectives); how much it computes and moves (work); what it computes while a
collective is under way (overlap), and what it could, whatever the schedule (hiding); how long it takes by its own
schedule (timeline). `minipod.traffic` and `minipod.pods` are the doors."""
