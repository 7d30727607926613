"""Count what leaves each of two hosts, for machines that cannot make any.

python lessons/ch22_stages/record_two_hosts.py
where hosts can be made. Writes two_hosts.json.
"""

import json
from datetime import date

import jax
from two_hosts import FILE, counted

if __name__ == "__main__":
    when = f"{date.today().isoformat()}, JAX {jax.__version__}"
    text = json.dumps({"when": when, "bytes": counted()}, indent=1)
    FILE.write_text(f"{text}\n", "utf-8")
