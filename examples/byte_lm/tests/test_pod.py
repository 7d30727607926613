"""The step on eight chips that are not here, as the TPU's compiler makes it."""

import pytest
from minipod import pods

from plan import step


@pytest.mark.parametrize("data, model", [(8, 1), (2, 4)])
def test_the_step_on_eight_chips(plans, data, model):
    pytest.importorskip("libtpu", reason="the TPU's compiler is not installed: pip install libtpu flatbuffers")
    function, arguments = step(pods.mesh("v5e:2x4", data=data, model=model))
    plans.check(f"step, v5e:2x4, data={data}, model={model}", pods.compile(function, *arguments))
