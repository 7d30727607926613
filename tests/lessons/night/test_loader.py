"""Chapter 11's loader: stopped and started again it gives the same batches; what is saved is the state of a batch."""

from itertools import islice

import numpy as np
import pytest

from lessons.ch11_data.loader import Loader, ahead
from minipod import cluster

ROWS = np.arange(22, dtype=np.float32).reshape(11, 2)


def taken(batches, count: int) -> list[np.ndarray]:
    return [batch for batch, _ in islice(batches, count)]


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_loader_goes_on_after_the_batch_that_was_used(depth):
    whole = taken(ahead(Loader(ROWS, 4, seed=3), np.copy, depth), 9)
    for stop in (1, 2, 5):
        batches = ahead(Loader(ROWS, 4, seed=3), np.copy, depth)
        *_, (_, used) = islice(batches, stop)
        later = taken(ahead(Loader(ROWS, 4, seed=3, state=used), np.copy, depth), 9 - stop)
        assert np.array_equal(later, whole[stop:])


def test_the_loaders_own_state_is_ahead_of_the_training():
    loader = Loader(ROWS, 4, seed=3)
    batches = ahead(loader, np.copy, depth=2)
    _, used = next(batches)
    assert used == (0, 4) and loader.state == (1, 4)  # two batches an epoch


def test_an_epoch_has_each_row_once_but_for_the_rest_and_another_order():
    batches = taken(ahead(Loader(ROWS, 5, seed=0), np.copy), 4)
    epochs = [np.concatenate(batches[:2])[:, 0], np.concatenate(batches[2:])[:, 0]]
    assert all(len(set(epoch)) == 10 for epoch in epochs) and not np.array_equal(*epochs)


@pytest.fixture
def goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/index.txt").write_text("a.npy b.npy c.npy d.npy")
    for name, rows in zip("abcd", (27, 7, 9, 9), strict=True):
        np.save(tmp_path / f"data/{name}.npy", np.arange(4.0 * rows, dtype=np.float32).reshape(rows, 4))
    program = f"{cluster.find(__file__).parents[3]}/lessons/ch11_data/goes_on.py"
    return lambda *words, **settings: cluster.run(program, *words, **settings).outputs


@pytest.mark.long
@pytest.mark.parametrize(("saved", "same"), [("used", True), ("read", False)])
def test_two_processes_stop_and_go_on(goes_on, saved, same):
    whole, _, later = (goes_on(*a.split(), saved) for a in ("w 8", "s 4", "s 8"))
    assert [a.splitlines()[4:] == b.splitlines() for a, b in zip(whole, later, strict=True)] == [same] * 2


@pytest.mark.long
def test_four_processes_take_the_states_of_two_without_a_word(goes_on):
    """As chapter 11 warns: the array of states has a row for each device, and the devices are as many."""
    goes_on("s", "4", "used")
    done = goes_on("s", "5", "used", processes=4, devices=2)
    assert [text.split()[:2] for text in done] == [["step", "5"]] * 4
