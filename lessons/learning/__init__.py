"""The learner's screen: `python -m lessons learn`. A client of lessons/checking/service.py, drawn or line by line."""
