"""The small changes that make a mutant of a right answer: for a node of its syntax tree, those that may replace it.

Those that any program has (a comparison, a sum, a number, a condition), and those of this book: collectives,
axes, PartitionSpecs, the numbers of devices and processes, sort keys, `x or default`.
"""

import ast
import copy
from collections.abc import Iterator

_COMPARED: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
_COMPUTED: dict[type[ast.operator], list[type[ast.operator]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult, ast.FloorDiv],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.BitOr: [ast.BitAnd],
    ast.BitAnd: [ast.BitOr],
}
_OTHERS = {  # functions and methods, by the last part of their names
    "psum": ["pmean", "pmax"],
    "pmean": ["psum"],
    "pmax": ["pmin"],
    "pmin": ["pmax"],
    "sum": ["mean", "max"],
    "mean": ["sum"],
    "median": ["mean"],
    "max": ["min"],
    "min": ["max"],
    "argmax": ["argmin"],
    "argmin": ["argmax"],
    "maximum": ["minimum"],
    "any": ["all"],
    "all": ["any"],
    "floor": ["ceil"],
    "ceil": ["floor"],
    "zeros": ["ones"],
    "ones": ["zeros"],
}
_WHOSE = {
    "devices": ["local_devices"],
    "local_devices": ["devices"],
    "device_count": ["local_device_count"],
    "local_device_count": ["device_count"],
}
_COUNTS = {  # of this machine's devices and processes: what somebody writes who tried it there only
    "process_count": [2],
    "device_count": [8, 4],
    "local_device_count": [4],
    "process_index": [0, 1],
}
_SIZES = {"num_devices", "processes", "devices_per_process"}  # arguments that are such a count
COLLECTIVES = {"psum", "pmean", "pmax", "pmin", "psum_scatter", "all_gather", "all_to_all", "ppermute", "axis_index"}
_SAME = {"strict", "axis_types", "mesh", "in_specs", "out_specs", "check_vma", "dtype"}  # keywords without a default


def alternatives(node: ast.AST, axes: set[str], several: bool) -> Iterator[ast.AST]:
    """What may stand in place of a node; the node itself is left as it is.

    axes     the names of mesh axes that the function mentions
    several  whether it runs in several processes: in one, local devices are all devices
    """
    match node:
        case ast.Compare(ops=[op]):
            yield from (_with(node, ops=[other()]) for other in _COMPARED[type(op)])
        case ast.BinOp():
            yield from _computed(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            yield from (_joined(node, [v for v in node.values if v is not drop]) for drop in node.values)
            if isinstance(node.op, ast.Or) and len(node.values) == 2:
                yield _if_none(*node.values)
        case ast.Constant():
            yield from _constants(node)
        case ast.IfExp():
            yield from (node.body, node.orelse)
            if not isinstance(node.body, ast.Tuple | ast.List | ast.Lambda):  # which are true, if they are not empty
                yield ast.BoolOp(ast.Or(), [ast.IfExp(node.test, node.body, ast.Constant(None)), node.orelse])
        case ast.Subscript():
            yield from _subscripts(node)
        case ast.Slice():
            yield from _slices(node)
        case ast.Call():
            yield from _calls(node, several)
        case ast.Tuple() if _names(node):
            yield from _tuples(node)
        case ast.Lambda(body=ast.Tuple(elts=[one, other])):
            yield from (_with(node, body=part) for part in (one, other, ast.Tuple([other, one], ast.Load())))
        case ast.Attribute(value=ast.Name(id="mesh"), attr="size"):
            yield from map(ast.Constant, (8, 4))
        case ast.Name(id=name, ctx=ast.Load()) if name in _SIZES:
            yield from map(ast.Constant, (8, 2))
        case ast.comprehension(ifs=[_, *_]):
            yield from (_with(node, ifs=[c for c in node.ifs if c is not drop]) for drop in node.ifs)
        case ast.If():
            yield from (_with(node, test=ast.Constant(whether)) for whether in (True, False))
        case ast.For():
            yield from (_with(node, iter=_cut(node.iter, how)) for how in ("[1:]", "[:-1]", "[::-1]"))
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
            if isinstance(node, ast.AugAssign):
                yield from (_with(node, op=other()) for other in _COMPUTED.get(type(node.op), []))
                yield ast.Assign([node.target], node.value)
    if isinstance(node, ast.Call | ast.Tuple):
        yield from _other_axes(node, axes)


def axis_names(function: ast.AST) -> set[str]:
    """The mesh axes that a function names, in specs and in collectives."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and (_is_spec(n) or _called(n) in COLLECTIVES)]
    return {text for call in calls for arg in call.args for text in _texts(arg)}


def _texts(node: ast.AST) -> Iterator[str]:
    return (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _computed(node: ast.BinOp) -> Iterator[ast.AST]:
    yield from (_with(node, op=other()) for other in _COMPUTED.get(type(node.op), []))
    if isinstance(node.op, ast.FloorDiv):  # rounded up
        yield ast.UnaryOp(ast.USub(), _with(node, left=ast.UnaryOp(ast.USub(), node.left)))  # type: ignore[arg-type]
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Mod):
        yield node.left


def _joined(node: ast.BoolOp, values: list[ast.expr]) -> ast.AST:
    return values[0] if len(values) == 1 else _with(node, values=values)


def _if_none(value: ast.expr, default: ast.expr) -> ast.AST:
    """`value or default` where only None is to be replaced."""
    return ast.IfExp(ast.Compare(value, [ast.Is()], [ast.Constant(None)]), default, value)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    elif isinstance(node.value, float):
        yield ast.Constant(1.1 * node.value if node.value else 1.0)


def _subscripts(node: ast.Subscript) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(node.ctx, ast.Load) and isinstance(value, ast.Attribute) and value.attr == "shape":
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):  # mesh.shape["x"]
            yield from map(ast.Constant, (2, 4))


def _slices(node: ast.Slice) -> Iterator[ast.AST]:
    for end in ("lower", "upper"):
        if (bound := getattr(node, end)) is not None:
            yield _with(node, **{end: None})
            if not isinstance(bound, ast.Constant):
                yield from (_with(node, **{end: by_one}) for by_one in _by_one(bound))


def _by_one(node: ast.expr) -> Iterator[ast.expr]:
    yield from (ast.BinOp(node, op, ast.Constant(1)) for op in (ast.Add(), ast.Sub()))


def _calls(node: ast.Call, several: bool) -> Iterator[ast.AST]:
    name = _called(node)
    for other in [*_OTHERS.get(name, []), *(_WHOSE.get(name, []) if several else [])]:
        yield _with(node, func=_renamed(node.func, other))
    for count in _COUNTS.get(name, []) if several else []:
        yield ast.Constant(count)
    for keyword in node.keywords:
        if keyword.arg not in _SAME:
            yield _with(node, keywords=[k for k in node.keywords if k is not keyword])
    if name == "sorted":
        if not _is_set(node.args[0]):  # whose order may differ from run to run
            yield _with(node, func=ast.Name("list", ast.Load()), keywords=[])
        yield _with(node, keywords=[*node.keywords, ast.keyword("reverse", ast.Constant(True))])
    if name == "range":
        for i, arg in enumerate(node.args):
            if not isinstance(arg, ast.Constant):
                for by_one in _by_one(arg):
                    yield _with(node, args=[*node.args[:i], by_one, *node.args[i + 1 :]])
    if name == "get" and len(node.args) == 2:
        yield ast.BoolOp(ast.Or(), [_with(node, args=node.args[:1]), node.args[1]])  # type: ignore[list-item]
    if name in ("process_allgather", "psum", "pmean", "device_put", "with_sharding_constraint") and node.args:
        yield node.args[0]
    if _is_spec(node):
        yield from _specs(node)


def _specs(node: ast.Call) -> Iterator[ast.AST]:
    """A PartitionSpec with an entry less, an entry emptied, or two exchanged."""
    args = node.args
    for i, arg in enumerate(args):
        if i < len(args) - 1 or len(args) == 1:
            yield _with(node, args=[*args[:i], *args[i + 1 :]])
        if not (isinstance(arg, ast.Constant) and arg.value is None) and not isinstance(arg, ast.Starred):
            yield _with(node, args=[*args[:i], ast.Constant(None), *args[i + 1 :]])
    if len(args) > 1:
        yield _with(node, args=[args[1], args[0], *args[2:]])


def _tuples(node: ast.Tuple) -> Iterator[ast.AST]:
    """Names of axes: one less, or in another order."""
    yield from (_with(node, elts=[e for e in node.elts if e is not drop]) for drop in node.elts)
    yield _with(node, elts=node.elts[::-1])


def _other_axes(node: ast.Call | ast.Tuple, axes: set[str]) -> Iterator[ast.AST]:
    """Another axis in place of one that a spec, or a collective, names."""
    if isinstance(node, ast.Tuple) or not (_is_spec(node) or _called(node) in COLLECTIVES):
        return
    for i, arg in enumerate(node.args):
        if isinstance(arg, ast.Constant) and arg.value in axes:
            for other in sorted(axes - {arg.value}):
                yield _with(node, args=[*node.args[:i], ast.Constant(other), *node.args[i + 1 :]])


def _cut(node: ast.expr, how: str) -> ast.expr:
    """All but the first, all but the last, or in the other order."""
    (cut,) = ast.parse(f"list(it){how}").body
    assert isinstance(cut, ast.Expr) and isinstance(cut.value, ast.Subscript)
    assert isinstance(cut.value.value, ast.Call)
    cut.value.value.args = [node]
    return cut.value


def _names(node: ast.Tuple) -> bool:
    return len(node.elts) > 1 and all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts)


def _called(node: ast.Call) -> str:
    """The last part of what is called: `psum` of `jax.lax.psum(…)`."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _renamed(func: ast.expr, name: str) -> ast.AST:
    return _with(func, attr=name) if isinstance(func, ast.Attribute) else _with(func, id=name)


def _is_set(node: ast.expr) -> bool:
    return isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Call) and _called(node) == "set")


def _is_spec(node: ast.Call) -> bool:
    return _called(node) in ("P", "PartitionSpec")
