# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% begin
import sys
from pathlib import Path

import minipod
from minipod import devices, pictures, traffic
from minipod.expect import expect_error
from minipod.hlo import text
from minipod.hlo.work import work

devices.simulate(8)
import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax

lesson = Path(minipod.__file__).parents[1] / "lessons/ch21_experts"
sys.path.append(str(lesson))

# %% oracle
from chosen import alone, drawn, mlp, route

w = drawn(jax.random.key(0), 16, 32, 16)
x = jax.random.normal(jax.random.key(1), (256, 16))
expected = jax.jit(alone)(w, x)


def flops(f, *args):
    program = jax.jit(f).lower(*args).compile().as_text()
    return sum(work(text.parse(program)).flops.values())


one = jax.tree.map(lambda a: a[:1], {n: w[n] for n in ("up", "down")})
print(f"all 16 experts, 256 tokens: {flops(alone, w, x):,} FLOPs")
print(f"one expert, 256 tokens: {flops(mlp, x[None], one):,} FLOPs")

# %% top-two
p, gate, who = route(x, w["router"])
for t in range(3):
    a, b = (np.array(part).round(2) for part in (p[t, who[t]], gate[t]))
    print(f"token {t}: experts {who[t]}, p {a}, gates {b}")

# %% queues
from packed import queue

small = jnp.array([[2, 0], [2, 1], [0, 2], [2, 0], [1, 2]])
before = queue(small, 3)
for t, (a, b) in enumerate(zip(small, before, strict=True)):
    print(f"token {t}: experts {a}, before it {b}")
print("with 2 places at each expert these are dropped:")
print(*(f"token {t}'s choice {c + 1}" for t, c in np.argwhere(before >= 2)))

# %% drops
from packed import places

each = who.reshape(8, 32, 2)  # 8 devices, 32 tokens each
print("factor  places  dropped: all  first choices  second choices")
for factor in 1, 1.25, 1.5, 2, 4:
    capacity = places(factor, 32, 16)
    late = np.stack([queue(mine, 16) >= capacity for mine in each])
    parts = (late.mean(), *late.mean((0, 1)))
    print(f"{factor:6} {capacity:7}", *(f"{part:13.1%}" for part in parts))

# %% packed-alone
from packed import experts

y, _, _, late = jax.jit(experts, static_argnums=2)(w, x, 256)
print(f"room for all: {late.sum()} dropped, differs by", end=" ")
print(f"{abs(y - expected).max():.0e}")
for capacity in 256, 40:
    layer = flops(lambda w, x, n=capacity: experts(w, x, n)[0], w, x)
    print(f"{capacity} places at each expert: {layer:,} FLOPs")

# %% there-and-back
mesh = jax.make_mesh((8,), ("e",), (jax.sharding.AxisType.Auto,))
specs = {"router": P(), "up": P("e"), "down": P("e")}
goal = jax.random.normal(jax.random.key(2), x.shape)
given = jax.device_put(
    (w, x, goal),
    jax.tree.map(lambda s: NamedSharding(mesh, s), (specs, P("e"), P("e"))),
)


def layer(capacity):
    def loss(w, x, goal):
        y, *_, late = experts(w, x, capacity, "e")
        off, late = jnp.mean((y - goal) ** 2), late.astype(x.dtype).mean()
        return lax.pmean(off, "e"), lax.pmean(late, "e")

    data = specs, P("e"), P("e")
    f = jax.shard_map(loss, mesh=mesh, in_specs=data, out_specs=(P(), P()))
    return jax.jit(jax.value_and_grad(f, has_aux=True))


# %% gradients
def lone(w, x, goal):
    return jnp.mean((alone(w, x) - goal) ** 2)


truth_loss, slopes = jax.jit(jax.value_and_grad(lone))(w, x, goal)
print("places  dropped  loss differs by  gradients by")
for room in 32, 5:
    (found, late), g = layer(room)(*given)
    off = max(abs(np.array(g[n]) - np.array(slopes[n])).max() for n in g)
    print(f"{room:6} {late:8.1%} {abs(found - truth_loss):16.0e} {off:13.0e}")

# %% bill
traffic.table(traffic.of(layer(5), *given, mesh=mesh))

# %% hot
many = jax.random.normal(jax.random.key(3), (4096, 16))
push = 3 * jnp.eye(16)[0]  # from feature 0, which is 1 where this is added
hot = many.at[:, 0].set(1), w["router"].at[:, 3].add(push)
routers = {"as drawn": (many, w["router"]), "hot": hot}
a_row = 4 * 16 * 32  # FLOPs of one token at one expert: two products


def dropped(tokens, router):  # with 80 places, a factor of 1.25
    picks = route(tokens, router)[2].reshape(8, 512, 2)
    return np.mean([queue(mine, 16) >= 80 for mine in picks])


print("                                                  factor 1.25:")
print("router    device by device, kFLOP, no drops       padded  dropped")
for name, pair in routers.items():
    picks = np.array(route(*pair)[2])
    load = np.bincount(picks.reshape(-1), minlength=16).reshape(8, 2).sum(1)
    done = "".join(f"{n * a_row / 1000:6.0f}" for n in load)
    padded = 8 * 2 * 80 * a_row / 1000  # 8 senders, 2 experts, 80 places
    print(f"{name:9}{done} {padded:7.0f} {dropped(*pair):8.1%}")

# %% drops-curve
factors, lost = [1, 1.25, 1.5, 2, 3, 4, 6, 8], {}
for name, pair in routers.items():
    picks = route(*pair)[2].reshape(8, 512, 2)
    before = np.stack([queue(mine, 16) for mine in picks])
    even = 512 * 2 / 16  # choices of a device for an expert, were all even
    lost[name] = [100 * np.mean(before >= even * f) for f in factors]
pictures.curve(lost, factors, "capacity factor", "dropped, %")

# %% balance
from packed import balance

print("                                         after 60 steps down it:")
print("router    balance loss  mean of eight    balance loss  dropped")
for name, (tokens, router) in routers.items():

    def uneven(router, tokens=tokens):
        p, _, who = route(tokens, router)
        return balance(p, who)

    each = np.mean([uneven(router, part) for part in jnp.split(tokens, 8)])
    moved, slope = router, jax.jit(jax.grad(uneven))
    for _ in range(60):
        moved = moved - 0.5 * slope(moved)
    line = f"{name:9} {uneven(router):12.4f} {each:14.4f}"
    print(f"{line} {uneven(moved):15.4f} {dropped(tokens, moved):8.2%}")

# %% own-kinds
mine = jnp.repeat(jnp.arange(8), 32)  # the device of each token
sure = jax.nn.one_hot(2 * mine, 16) + jax.nn.one_hot(2 * mine + 1, 16)
shares = jax.nn.softmax(9 * sure)
picked = lax.top_k(shares, 2)[1]
pairs = zip(jnp.split(shares, 8), jnp.split(picked, 8), strict=True)
own = np.mean([balance(*pair) for pair in pairs])
print(f"balance loss {balance(shares, picked):.2f}, mean of eight {own:.2f}")

# %% bias
print("most at one expert ÷ mean  without a bias  60 steps later")
for name, (tokens, router) in routers.items():
    p, bias, most = route(tokens, router)[0], jnp.zeros(16), []
    for _ in range(61):
        picked = lax.top_k(p + bias, 2)[1]
        load = jnp.bincount(picked.reshape(-1), length=16)
        most.append(load.max() / load.mean())
        bias += 0.01 * jnp.sign(load.mean() - load)
    print(f"{name:27} {most[0]:13.2f} {most[-1]:15.2f}")

# %% training
from trained import EXPERTS, TOKENS, train

written = lesson.parents[1] / "lessons/ch09_training/text.txt"
data = np.frombuffer(written.read_bytes(), np.uint8)
room, few = TOKENS, places(1.25, TOKENS, EXPERTS)
runs = {
    "1 device, room for all": train(data, 20, room),
    "8 devices, room for all": train(data, 20, room // 8, mesh),
    "8 devices, factor 1.25": train(data, 20, few // 8, mesh),
    "1 device, 8 queues, 1.25": train(data, 20, few // 8, groups=8),
    "1 device, 1 queue, 1.25": train(data, 20, few),
}
for name, told in runs.items():
    nats, late = zip(*told, strict=True)
    print(f"{name:25} loss {nats[0]:.5f} … {nats[-1]:.5f}", end="")
    print(f"  dropped {late[0]:5.1%} … {late[-1]:5.1%}")
a, b, c, d, _ = (np.array(told)[:, 0] for told in runs.values())
print(f"differ in 20 steps by at most {abs(a - b).max():.0e}", end="")
print(f" (room), {abs(c - d).max():.0e} (1.25)")

# %% axes
import axes

print(f"{axes.TOKENS} tokens a device, {axes.EXPERTS} experts", end=", ")
print(f"width {axes.WIDTH}, hidden width {axes.HIDDEN}")
lines = (lesson / "axes.py").read_text().splitlines()
print(*(line.strip() for line in lines if "if late else" in line), sep="\n")
names = "expert", "tensor", "data", "data+expert"
cube = jax.make_mesh((2, 2, 2), ("data", "expert", "tensor"))
print("\nfactor  summed " + "".join(f"{name:>12}" for name in names))
for factor, late in (1.25, False), (2.5, False), (1.25, True):
    f, args = axes.program(cube, factor, late)
    found = dict.fromkeys(names, 0)
    for c in traffic.of(f, *args, mesh=cube):
        found["+".join(c.axes)] += traffic.total([c])
    line = "".join(f"{found[name]:12,}" for name in names)
    print(f"{factor:6}  {'at home' if late else 'there':7}{line}")

# %% no-ragged-here
import dropless

ring = jax.make_mesh((8,), ("expert",), (jax.sharding.AxisType.Auto,))
f, args = dropless.program(ring)
with expect_error(jax.errors.JaxRuntimeError, "ragged-all-to-all"):
    f.lower(*args).compile()

# %% by-hand
weights = drawn(jax.random.key(0), 128, 256, 16)
tokens = jax.random.normal(jax.random.key(1), (512, 128))
placed = jax.device_put(
    (weights, tokens), jax.tree.map(lambda a: a.sharding, args)
)
truth = jax.jit(alone)(weights, tokens)
print("rows that a device takes   differs by")
for bound in 512, 128:
    f, _ = dropless.program(ring, bound, swap=dropless.by_hand)
    print(f"{bound:24} {abs(f(*placed) - truth).max():12.0e}")

# %% plans
from minipod.pods import recorded

for name in "forward", "backward":
    (plan,) = recorded.plans(lesson, name, "v5e:2x4", expert=8)
    print(f"{name}, {plan.on}, libtpu {plan.versions['libtpu']}")
    print(traffic.table(plan.collectives))
    print(f"FLOPs of products: {sum(plan.flops.values()):,}")
print(f"up and down for 512 rows, the bound: {4 * 512 * 128 * 256:,} FLOPs")

# %% ragged-dot
sizes = jnp.array([400, 12, 100, 0], jnp.int32)  # rows of each of 4 experts
rows = jax.random.normal(jax.random.key(3), (512, 32))
table = jax.random.normal(jax.random.key(4), (4, 32, 64))
parts = jnp.split(rows, [400, 412])
by_parts = jnp.concatenate([a @ b for a, b in zip(parts, table, strict=False)])
off = abs(lax.ragged_dot(rows, table, sizes) - by_parts).max()
once = flops(jnp.dot, rows, table[0])
ragged = flops(lax.ragged_dot, rows, table, sizes)
print(
    f"differs by {off:.0e}; FLOPs {ragged:,} = {ragged / once:.0f} × {once:,}"
)

# %% mixed-up
from packed import exchanged


def mixed(box, w, axis):  # rows arrive by sender, and a reshape is no cure
    there = lax.all_to_all(box, axis, 0, 0, tiled=True)
    there = there.reshape(-1, 8 * box.shape[1], box.shape[2])
    return lax.all_to_all(mlp(there, w), axis, 1, 0, tiled=True)


def apart(w, box):
    off = abs(exchanged(box, w, "e") - mixed(box, w, "e"))
    return lax.pmean(off.mean(), "e")


boxes = jax.random.normal(jax.random.key(4), (8 * 16, 5, 16))
data = specs, P("e")
f = jax.shard_map(apart, mesh=mesh, in_specs=data, out_specs=P())
print(f"answers differ by {jax.jit(f)(given[0], boxes):.2f} on average")

# %% zeros
late_y, *_, late = jax.jit(experts, static_argnums=2)(w, x, 20)
gone = np.argwhere(late.all(1))[:, 0]
print(f"{len(gone)} tokens of 256 lost both choices")
print(f"the layer returns for all of them {abs(late_y[gone]).max()}")
differ = abs((x + late_y)[gone] - x[gone]).max()
print(f"x + layer differs from x, in these tokens, by {differ}")
