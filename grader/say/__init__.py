"""A verdict in the learner's words."""
