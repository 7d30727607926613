"""Recognise JAX's usual errors by their type and text; messages.toml has a sentence for each."""

import re

from grader.messages import Message

# The first that is found in "Type: text" counts. Words of JAX 0.10.2 and 0.12.
USUAL = [
    ("host-copy", r"^TracerArrayConversionError"
                  r"|(?s:^Concretization.*(`(float|int|complex)` function|(item|tolist)\(\)))"),
    ("placement-of-tracer", r"(?s)^Concretization.*(addressable_|devices\(\)|sharding)|not available on traced array"),
    ("traced-if", r"^(TracerBoolConversionError|.*truth value of an array)"),
    ("traced-size", r"^(NonConcreteBoolean|TracerIntegerConversion|Concretization|.*concrete values of integer"
                    r"|IndexError: .*static (integers|start).*Tracer)"),
    ("leaked", r"^UnexpectedTracerError|^TypeError: Computation compiled for \d+ inputs"),
    ("pmap-sizes", r"_internal_pmap_axis_name|key path flat_args\[|inconsistent sizes for array"),
    ("squeeze", r"cannot select an axis to squeeze out"),
    ("map-scalar", r"was requested to map its argument along axis"),
    ("map-nothing", r"at least one (argument with a mapped axis|non-None value in in_axes)"),
    ("map-tree", r"(?s)in_axes.*(tree prefix|must be an int, None|prefix pytree)|prefix pytree \w+ in_axes"),
    ("specs-tree", r"(?s)(in_specs|out_specs|out_axes)\b.*prefix pytree"),
    ("squeezed-out", r"out_axes, got axis spec None"),
    ("unbound-axis", r"unbound axis name"),
    ("axis-not-in-mesh", r"is not found in mesh|must refer to an axis marked as manual"),
    ("axis-twice", r"^DuplicateSpecError"),
    ("spec-too-long", r"too long to be compatible|Length of sharding.spec|rank at least|^AssertionError: \(\d+, P\("),
    ("block-of-one", r"dimension size 1 must|split_axis \(1\) has|x\.shape\[split_axis\], but they are \d+ and 1\b"),
    ("indivisible", r"evenly divi|even(ly)? divisible|equal division|^IndivisibleError|be divisible by"),
    ("mesh-set-inside", r"`set_mesh` can only be used outside"),
    ("array-outside", r"^ValueError: Length of device assignment"),
    ("no-mesh", r"non-empty mesh in context|not under a mesh context|Please set a mesh|context mesh cannot be empty"),
    ("in-specs-differ", r"in_specs passed to shard_map.*does not match|does not match the sharding on the respective"),
    ("out-specs-unreduced", r"require replication which can't be statically inferred"),
    ("devices-mixed", r"incompatible devices for jitted|Mesh for all inputs should be equal"),
    ("sharding-contraction", r"^ShardingTypeError: Contracting"),
    ("sharding-index", r"^ShardingTypeError(?!.*must be equal).*(gather|slic|rolled|\.at\[)"),
    ("sharding-reshape", r"^ShardingTypeError: .*reshape"),
    ("sharding-mixed", r"^ShardingTypeError.*(incompatible|same (batch )?sharding|meshes|match|be equal|identically)"),
    ("donated", r"Array has been deleted"),
    ("not-addressable", r"spans non-addressable|must be a fully addressable array"),
    ("not-the-same", r"is not the same on each process"),
    ("place-is-no-place", r"`jax.device_put` only accepts"),
    ("memory", r"RESOURCE_EXHAUSTED"),
    ("keyword", r"unexpected keyword argument"),
    ("carry", r"carry input and carry output must have equal types"),
    ("scan-pair", r"scan body output must be a pair"),
    ("branches", r"branches must have equal output types"),
    ("grad-scalar", r"Gradient only defined for scalar-output"),
    ("grad-integers", r"grad requires real- or complex-valued"),
    ("permutation", r"ppermute sources and destinations must be unique"),
    ("collective-size", r"all_to_all requires|all_to_all split_axis|scatter dimension size"),
    ("reshape", r"cannot reshape array"),
    ("contraction", r"contracting dimensions to have the same shape|matmul: Input operand \d+ has a mismatch"),
    ("shapes", r"shapes for broadcasting|could not be broadcast|Cannot concatenate arrays|same shape\. Got"),
    ("immutable", r"JAX arrays are immutable"),
    ("list-for-array", r"requires ndarray or scalar arguments|'(list|tuple)' object has no attribute '(shape|sum)"),
    ("not-an-array", r"as an abstract array"),
    ("spec-for-sharding", r"'str' object has no attribute 'partitions'"),
    ("devices-for-mesh", r"'list' object has no attribute 'size'"),
    ("mesh-too-large", r"Number of devices \d+ must be >= the product"),
    ("mesh-names", r"Mesh requires the ndim"),
    ("scalar-of-many", r"Only scalar arrays can be converted|only (length-1|0-dimensional|size-1) arrays"),
    ("removed", r"(?s)^AttributeError: (module 'jax|jax\.)|^AttributeError:.*(is|been) deprecated"
                r"|^ImportError:.*from 'jax|^ModuleNotFoundError:.*'jax\."),
    ("no-attribute", r"^AttributeError.*has no attribute"),
    ("dimensions", r"Too many indices|too many indices|is out of bounds for array of dimension"),
    ("index", r"^IndexError: (?!pop|Replacement)"),
]  # fmt: skip


IMPORTED = {  # what a chapter's blank may not import, under the names that everybody gives it
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
    "jax": "import jax",
    "lax": "from jax import lax",
    "P": "from jax.sharding import PartitionSpec as P",
    "PartitionSpec": "from jax.sharding import PartitionSpec",
    "NamedSharding": "from jax.sharding import NamedSharding",
    "AxisType": "from jax.sharding import AxisType",
    "Mesh": "from jax.sharding import Mesh",
    "multihost_utils": "from jax.experimental import multihost_utils",
    "partial": "from functools import partial",
    "functools": "import functools",
    "math": "import math",
    "re": "import re",
    "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict",
}


def explained(kind: str, text: str) -> Message | None:
    """Return the usual meaning of an error. kind: the name of its type. text: its message."""
    whole = f"{kind}: {text}"
    if match := re.match(r"NameError: name '(\w+)' is not defined", whole):
        if line := IMPORTED.get(match[1]):
            return Message("error-name-import", {"line": line})
    key = next((key for key, words in USUAL if re.search(words, whole)), None)
    if key == "permutation" and (device := _beyond(text)) is not None:
        return Message("error-permutation-beyond", {"device": device})
    return Message("error-" + key) if key else None


def _beyond(text: str) -> int | None:
    """Return the device beyond the axis if the pairs name no device twice: JAX takes numbers modulo the axis's size."""
    pairs = re.findall(r"\((-?\d+), (-?\d+)\)", text)
    sources, targets = ({int(pair[i]) for pair in pairs} for i in (0, 1))
    if not pairs or len(sources) < len(pairs) or len(targets) < len(pairs):
        return None
    named = sources | targets
    return min(named) if min(named) < 0 else max(named)
