"""How an answer calls the functions that it is handed, seen and told."""

import jax
import jax.numpy as jnp

from grader.judge.calls import other_calls
from grader.say import shown
from grader.see.called import MOST, Watch
from grader.see.observation import Called, Observation, decode
from grader.see.wire import encode


def predict(params, batch):
    return batch @ params["w"]


PARAMS, BATCH = {"w": jnp.ones((5, 2))}, jnp.ones((32, 5))


def observed(how) -> Observation:
    watch = Watch((predict, PARAMS, BATCH))
    how(*watch.args)
    return Observation((), called=watch.calls())


def test_the_shapes_of_calls_are_seen_whether_traced_or_not():
    each = observed(lambda f, p, x: jax.vmap(f, (None, 0))(p, x.reshape(8, 4, 5)))
    assert [shown.arrays(call.on, "en") for call in each.called] == ["f32[4, 5]"]
    by_hand = observed(lambda f, p, x: [f(p, row) for row in x.reshape(8, 4, 5)])
    whole = observed(lambda f, p, x: jax.jit(f)(p, x))
    assert [shown.arrays(call.on, "en") for call in whole.called] == ["f32[32, 5]"]
    names = ["predict", "params", "batch"]
    assert other_calls(names, by_hand, each) == ()
    (found,) = other_calls(names, whole, each)
    assert (found.name, found.mine, found.theirs) == ("predict", whole.called, each.called)
    (found,) = other_calls(names, observed(lambda f, p, x: None), each)
    assert found.mine == ()
    assert other_calls(names, whole, observed(lambda f, p, x: None)) == ()


def test_what_is_handed_in_stays_what_it_is():
    watch = Watch((predict, PARAMS, BATCH, jax.jit(predict), len, 3))
    assert watch.args[0].__name__ == "predict" and watch.args[1:] == (PARAMS, BATCH, *watch.args[3:])
    assert watch.args[3].__wrapped__ is predict and watch.args[4:] == (len, 3)
    for n in range(1, 10):
        watch.args[0](PARAMS, jnp.ones((n, 5)))
    assert len(watch.calls()) == MOST
    seen = Observation((), called=watch.calls(), failure=None, value=watch.calls()[0].on[0])
    assert decode(Called, encode(seen.called[0])) == seen.called[0]
