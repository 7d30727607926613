"""Describe models by the few numbers that the formulas for training need, and list some published models."""

from dataclasses import dataclass
from math import inf

__all__ = ["SHAPES", "Model", "Shape", "model"]

WIDE = 128  # width per layer, as in published models: 4096 for 32 layers, 8192 for 64
ROOM = 1.25  # capacity of an expert, relative to its share if all experts got equally many tokens


@dataclass(frozen=True)
class Model:
    """A transformer in training, of `layers` equal layers.

    params: number in all layers, with experts. rows, length: sequences of the whole batch, tokens per sequence.
    sums: all-reduces of activations per layer and step with tensor parallelism, half forward, half backward; if layers
        are recomputed, the forward all-reduces are repeated, except the last one of each layer.
    weight, gradient: bytes per element when sent. state: bytes per parameter kept between steps: the parameter itself
        and the optimizer's averages; 12 for Adam in f32.
    inside: activations of a layer per token in addition to its input, in multiples of the width: queries, keys, values,
        heads and hidden units, and about one more that compiled plans hold; "tensor" divides them. whole: those that it
        does not divide, likewise: what attention and the MLP read, and the sum after attention. again: whether all
        these are recomputed in the backward pass. The last product of a layer is not; `last` is the share of the
        layer's parameters in it.
    kv: total width of a layer's keys and values, in multiples of the width. groups: number of their heads, which
        "tensor" must divide; 0 if unknown. heads: attention heads whose scores are written to memory, f32; 0 if a
        kernel keeps them in the core.
    experts: number of experts per layer, 0 for none; each token uses `each` of them; their capacity is `ROOM` times the
        average. spread: number of parameters in experts.
    """

    params: float
    layers: int
    width: int
    rows: int
    length: int
    sums: int = 4
    weight: int = 2
    gradient: int = 2
    state: int = 12
    inside: float = 16
    whole: float = 3
    again: bool = True
    last: float = 1 / 3
    kv: float = 2.0
    groups: int = 0
    heads: int = 0
    experts: int = 0
    each: int = 2
    spread: float = 0.0

    @property
    def tokens(self) -> int:
        return self.rows * self.length

    @property
    def used(self) -> float:
        """Return the number of parameters that multiply a token, including the unused capacity of experts."""
        return self.params - self.spread + (self.spread * self.each / self.experts * ROOM if self.experts else 0)


@dataclass(frozen=True)
class Shape:
    """The layers of a published model, without embedding and head.

    width: size of activations, and of all heads together. groups: heads of keys and values. hidden: units of an MLP, or
    of one expert, with three matrices. experts: per layer, 0 for a dense model; each: experts per token.
    """

    layers: int
    width: int
    heads: int
    groups: int
    hidden: int
    experts: int = 0
    each: int = 2

    @property
    def spread(self) -> int:
        """Return the number of parameters in experts."""
        return self.layers * self.experts * 3 * self.width * self.hidden

    @property
    def params(self) -> int:
        """Return the number of parameters of all layers."""
        attention = 2 * self.width**2 * (1 + self.groups / self.heads)
        mlp = self.width * self.experts if self.experts else 3 * self.width * self.hidden
        return round(self.layers * (attention + mlp)) + self.spread

    def model(self, rows: int, length: int, scores: bool = False) -> Model:
        """Return the model in training, with Adam in f32 and all else in bf16.

        rows, length: as in `Model`. scores: whether attention writes its scores to memory, see `Model.heads`.
        """
        kv = 2 * self.groups / self.heads
        times = self.each * ROOM if self.experts else 1
        return Model(
            self.params,
            self.layers,
            self.width,
            rows,
            length,
            inside=3 + kv + 3 * times * self.hidden / self.width,
            last=0 if self.experts else self.layers * self.width * self.hidden / self.params,
            kv=kv,
            groups=self.groups,
            heads=self.heads * scores,
            experts=self.experts,
            each=self.each,
            spread=self.spread,
        )


# config.json of meta-llama/Llama-3.2-1B, Meta-Llama-3-8B, Meta-Llama-3-70B, and mistralai/Mixtral-8x7B-v0.1.
SHAPES = {
    "llama_1b": Shape(16, 2048, 32, 8, 8192),
    "llama_8b": Shape(32, 4096, 32, 8, 14336),
    "llama_70b": Shape(80, 8192, 64, 8, 28672),
    "mixtral": Shape(32, 4096, 32, 8, 14336, experts=8),
}


def model(params: float, rows: int, length: int, layers: int | None = None, width: int | None = None) -> Model:
    """Make a model with `params` parameters; default layers and width are typical for that number.

    rows, length: sequences in the batch, tokens per sequence. Raises ValueError unless all are positive and finite.
    """
    for name, value in {"params": params, "batch": rows, "seq": length, "layers": layers, "width": width}.items():
        if value is not None and not 0 < value < inf:
            raise ValueError(f"{name} {value:g}: a positive, finite number is needed")
    if layers is None:
        layers = max(1, round((params / 12 / width**2) if width else (params / 12 / WIDE**2) ** (1 / 3)))
    if width is None:
        size = (params / 12 / layers) ** 0.5
        unit = WIDE if size < 16 * WIDE else 4 * WIDE  # of published models; FSDP divides a width among many devices
        width = max(unit, round(size / unit) * unit)
    return Model(params, layers, width, rows, length)
