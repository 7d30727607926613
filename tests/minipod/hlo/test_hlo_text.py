"""Lines of a program's text, and whether it is a compiled one."""

import pytest

from minipod import traffic
from minipod.hlo import text

# As Mosaic writes a kernel's own words: what stands in brackets goes on over several lines (splash attention).
KERNEL = """HloModule kernel, is_scheduled=true

ENTRY %main (p: f32[8,128]) -> f32[8,128] {
  %p = f32[8,128]{1,0:T(8,128)} parameter(0)
  %k = f32[8,128]{1,0:T(8,128)} custom-call(%p), custom_call_target="tpu_custom_call", frontend_attributes={m={
"xprof_metadata":"{\\"block_q\\": 128, \\"layout\\": [1}"
}}, metadata={op_name="jit(f)/pallas_call"}, backend_config={"custom_call_config":{"body":"TUz=}"}}
  ROOT %t = f32[8,128]{1,0:T(8,128)} negate(%k)
}
"""


def test_an_instruction_goes_on_while_its_brackets_are_open_and_one_that_is_never_closed_is_said_of_its_own_line():
    entry = text.parse(KERNEL).computations["main"]
    assert list(entry) == ["p", "k", "t"] and entry.root.name == "t"
    assert entry["k"].operand_names == ("p",)
    assert entry["k"].attributes["custom_call_target"] == '"tpu_custom_call"'
    assert set(entry["k"].attributes) == {"custom_call_target", "frontend_attributes", "metadata", "backend_config"}
    for old, new, line in (
        ('metadata={op_name="jit(f)/pallas_call"}', "metadata={", "%k = f32[8,128]"),
        ("negate(%k)", "negate(%k", "ROOT %t = f32[8,128]{1,0:T(8,128)} negate(%k"),
        ("parameter(0)", "parameter(0", "%p = f32[8,128]{1,0:T(8,128)} parameter(0"),
    ):
        with pytest.raises(ValueError, match="a bracket is never closed: ") as said:
            text.parse(KERNEL.replace(old, new))
        assert line in str(said.value) and "\n" not in str(said.value)


def test_of_programs_for_one_device_the_compiled_one_is_told_from_the_lowered_one():
    """JAX 0.10 leaves the partitioner's words in both."""
    compiled = KERNEL.replace('"tpu_custom_call"', '"SPMDFullToShardShape"')
    assert traffic.read(compiled) == []
    with pytest.raises(ValueError, match="lowered but not compiled"):
        traffic.read(compiled.replace(", is_scheduled=true", ""))
