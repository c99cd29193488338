"""The kind of an option from the type of the field that it sets, in the order in which vLLM's get_kwargs looks (vllm/engine/arg_utils.py)."""

import ast

from .sources import Found, Module, Sources

_BUILTIN = {"bool", "int", "float", "str", "dict", "list", "tuple", "set"}
_GENERIC = {"List": "list", "Tuple": "tuple", "Set": "set", "Dict": "dict", "Mapping": "dict", "Sequence": "list", "Literal": "literal"}
_WRAPPERS = {"Annotated", "SkipValidation", "Final"}
_DATACLASS = {"dataclass", "config"}


def of_annotation(sources: Sources, module: Module, annotation: ast.expr) -> str:
    """Return int, float, boolean, list or any."""
    parts = parts_of(sources, module, annotation)
    if "dataclass" in parts or parts - {"none"} == {"bool", "str"}:
        return "any"
    for kind, words in (("boolean", {"bool"}), ("any", {"literal"}), ("list", {"tuple", "list", "set"}), ("int", {"int"}), ("float", {"float"})):
        if parts & words:
            return kind
    return "any"


def parts_of(sources: Sources, module: Module, annotation: ast.expr, depth: int = 0) -> set[str]:
    """Return what a type is made of: names of builtins, literal, dataclass, none, other."""
    if depth > 10:
        return {"other"}
    match annotation:
        case ast.Constant(value=None):
            return {"none"}
        case ast.Constant(value=str(text)):
            return parts_of(sources, module, ast.parse(text, mode="eval").body, depth + 1)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return parts_of(sources, module, left, depth + 1) | parts_of(sources, module, right, depth + 1)
        case ast.Subscript(value=value, slice=inner):
            return _subscript(sources, module, value, inner, depth + 1)
        case ast.Name(id=name):
            return _named(sources, module, name, depth + 1)
    return {"other"}


def _subscript(sources: Sources, module: Module, value: ast.expr, inner: ast.expr, depth: int) -> set[str]:
    name = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
    items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Union":
        return set().union(*(parts_of(sources, module, item, depth) for item in items))
    if name == "Optional":
        return parts_of(sources, module, items[0], depth) | {"none"}
    if name in _WRAPPERS:
        return parts_of(sources, module, items[0], depth)
    return {_GENERIC.get(name, name if name in _BUILTIN else "other")}


def _named(sources: Sources, module: Module, name: str, depth: int) -> set[str]:
    if name in _BUILTIN or name in _GENERIC:
        return {_GENERIC.get(name, name)}
    found = sources.find(module, name)
    match found:
        case Found(module=home, node=ast.Assign(value=value)) | Found(module=home, node=ast.AnnAssign(value=value)) if value is not None:
            return parts_of(sources, home, value, depth)
        case Found(node=ast.ClassDef() as node):
            return {"dataclass" if _is_dataclass(node) else "other"}
    return {"other"}


def _is_dataclass(node: ast.ClassDef) -> bool:
    names = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list]
    return any((name.id if isinstance(name, ast.Name) else getattr(name, "attr", "")) in _DATACLASS for name in names)


def of_reader(text: str) -> str:
    """Return int, float, human or any by the function that reads the word, as it is written."""
    if "human_readable" in text:
        return "human"
    inner = text.removeprefix("optional_type(").removesuffix(")")
    return inner if inner in ("int", "float") else "any"
