"""A small language model over bytes, trained on all devices of all processes."""


class Unusable(ValueError):
    """What somebody asked for cannot be had; why, in one sentence, which is all that train.py then says."""
