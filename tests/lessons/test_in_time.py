"""Chapter 1: what is drawn of host and device in time takes as long as the page's formula says."""

import pytest

from lessons.ch01_devices.in_time import in_time, spans


@pytest.mark.parametrize(
    ("host", "device", "steps", "one_by_one", "queued"),
    [(1, 2, 4, 12, 9), (3, 1, 4, 16, 13), (2, 2, 5, 20, 12), (1, 5, 2, 12, 11)],
)
def test_only_the_longer_half_of_a_step_counts_when_steps_are_queued(host, device, steps, one_by_one, queued):
    for wait, whole in ((True, one_by_one), (False, queued)):
        found = spans(host, device, steps, wait)
        assert max(span["end"] for span in found) == whole
        for lane in ("host", "device"):
            own = [span for span in found if span["lane"] == lane]
            assert [span["step"] for span in own] == list(range(1, steps + 1))
            assert all(a["end"] <= b["start"] for a, b in zip(own, own[1:], strict=False))
        for given, worked in zip(found[::2], found[1::2], strict=True):
            assert given["end"] <= worked["start"]
    assert f"= {one_by_one}<" in (svg := in_time(host, device, steps).svg) and f"= {queued}<" in svg


def test_what_cannot_be_drawn_is_one_sentence():
    with pytest.raises(ValueError, match="9 steps of 1 and 2 units cannot be drawn: 2 to 8 steps"):
        in_time(1, 2, 9)
