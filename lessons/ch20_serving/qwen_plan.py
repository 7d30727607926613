"""Decode of Qwen 3 32B, from github.com/jax-ml/jax-llm-examples."""

from dataclasses import replace
from functools import partial

import jax
from jax import NamedSharding, P
from qwen3_jax import configs, model

BYTES = dict.fromkeys(("quant_mlp", "quant_attn", "quant_cache"), True)


def on(a, where):
    return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=where)


def program(mesh):
    config = replace(configs.QWEN3_32B, mesh=mesh, max_seq_len=2048, **BYTES)

    def described(kind, *sizes):
        a, where = kind.abstract(config, *sizes), kind.shardings(config, *sizes)
        return jax.tree.map(on, a, where, is_leaf=model.is_param)

    weights, cache = described(model.Weights), described(model.KVCache, 8, 2048)
    token = jax.ShapeDtypeStruct((8, 1), "int32")
    step = jax.jit(partial(model.decode_step, cfg=config), donate_argnums=2)
    return step, (on(token, NamedSharding(mesh, P())), weights, cache)
