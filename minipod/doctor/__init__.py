"""What this machine has and what is wrong with it: the first thing to run where something does not work.

`minipod doctor` prints what `describe` says of it.

    >>> from minipod import doctor
    >>> [found.name for found in doctor.examine()][:4]
    ['minipod', 'Python', 'jax', 'jaxlib']
"""

from minipod.doctor.findings import Finding, as_data, describe
from minipod.doctor.report import examine

__all__ = ["Finding", "as_data", "describe", "examine"]
