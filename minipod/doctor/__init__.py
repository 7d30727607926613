"""Check this machine; run this first if something does not work.

`minipod doctor` prints the findings as `describe` formats them.

    >>> from minipod import doctor
    >>> [found.name for found in doctor.examine()][:4]
    ['minipod', 'Python', 'jax', 'jaxlib']
"""

from minipod.doctor.findings import Finding, as_data, describe
from minipod.doctor.report import examine

__all__ = ["Finding", "as_data", "describe", "examine"]
