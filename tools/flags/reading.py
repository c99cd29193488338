"""The options of `vllm serve` as one version's sources declare them: every add_argument that the builder of its parser reaches."""

import ast
import dataclasses
import re
from collections.abc import Iterator

from . import keywords, kinds
from .sources import Found, Sources, Unreadable

_ENTRY = ("vllm.entrypoints.cli.serve", "ServeSubcommand", "subparser_init")
# They get the parser and add no option, or only those of a platform that Fairlane does not run.
_IGNORED = {"show_filtered_argument_or_group_from_help", "pre_register_and_update"}
_MANY = ("'+'", "'*'")
_LIMITS = {"ge": "least", "gt": "above", "le": "most", "lt": "below"}


@dataclasses.dataclass(frozen=True)
class Option:
    """One option. `kind` is one of those of core/engine/catalog.py."""

    name: str
    kind: str
    also: tuple[str, ...] = ()      # its other long names
    negated: bool = False           # whether there is a --no- form
    deprecated: bool = False        # declared so, or its help says so first
    limits: tuple[tuple[str, float], ...] = ()   # least, above, most and below, as the field has them


def options(sources: Sources) -> dict[str, Option]:
    """Return the options by name; Unreadable where the sources do what this reader does not follow."""
    module = sources.module(_ENTRY[0])
    owner = sources.find(module, _ENTRY[1]) if module is not None else None
    entry = sources.method(owner, _ENTRY[2]) if owner is not None else None
    if entry is None:
        raise Unreadable(f"{sources.root}: no {'.'.join(_ENTRY)}")
    found: dict[str, Option] = {}
    waiting, seen = [(entry, owner)], set()
    while waiting:
        function, on = waiting.pop()
        if id(function.node) in seen:
            continue
        seen.add(id(function.node))
        scope = keywords.Scope(sources, function, on)
        for node in ast.walk(function.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == keywords.ADD:
                found |= {option.name: option for option in (_option(sources, declared) for declared in scope.declared(node))}
            elif isinstance(node, ast.Call) and (callee := _callee(sources, function, on, node)) is not None:
                waiting.append(callee)
    return dict(sorted(found.items()))


def _callee(sources: Sources, function: Found, owner: Found | None, node: ast.Call) -> tuple[Found, Found | None] | None:
    """The function that a call hands the parser to, and the class that it is called on; None for any other call."""
    handed = [value for value in (*node.args, *(word.value for word in node.keywords)) if isinstance(value, ast.Name) and value.id.endswith("parser")]
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if not handed or name in _IGNORED:
        return None
    target, on = None, None
    if isinstance(node.func, ast.Name):
        target = sources.find(function.module, name)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        on = owner if node.func.value.id in ("cls", "self") else sources.find(function.module, node.func.value.id)
        target = sources.method(on, name) if on is not None and isinstance(on.node, ast.ClassDef) else None
    if target is None or not isinstance(target.node, ast.FunctionDef):
        raise function.module.error(node, "a call with the parser that leads nowhere")
    return target, on


def _option(sources: Sources, declared: keywords.Declared) -> Option:
    names = [word[2:].replace("_", "-") for word in declared.words if word.startswith("--")]
    if not names:
        raise Unreadable(f"{declared.module.path}: {declared.words} has no long name")
    kind, negated = _kind(sources, declared)
    return Option(names[0], kind, tuple(names[1:]), negated, _is_deprecated(declared), tuple(_limits(declared.field)))


def _kind(sources: Sources, declared: keywords.Declared) -> tuple[str, bool]:
    """The kind, and whether there is a --no- form."""
    given, field = declared.keywords, declared.field
    action = _text(given.get("action"))
    if action in ("'store_true'", "'store_false'"):
        return "switch", False
    if action == "StoreBoolean":
        return "truth", False
    if action == "'append'":
        return "repeat", False
    base = kinds.of_annotation(sources, field.module, field.node.annotation) if field is not None else "any"
    if action.endswith("BooleanOptionalAction") or (base == "boolean" and "type" not in given):
        return ("switch" if _is_false(sources, declared) else "bool"), True
    many = _text(given.get("nargs")) in _MANY or (base == "list" and "nargs" not in given)
    if many:
        return "list", False
    return (kinds.of_reader(_text(given["type"])) if given.get("type") is not None else "any" if base == "list" else base), False


def _limits(field: keywords.Field | None) -> Iterator[tuple[str, float]]:
    """The bounds of pydantic's Field, where they are written as numbers."""
    for word in field.node.value.keywords if field is not None and isinstance(field.node.value, ast.Call) else ():
        if word.arg in _LIMITS and isinstance(word.value, ast.Constant) and isinstance(word.value.value, (int, float)):
            yield _LIMITS[word.arg], word.value.value


def _is_false(sources: Sources, declared: keywords.Declared) -> bool:
    """Whether the option's default is False."""
    default = declared.keywords.get("default", declared.field.node.value if declared.field is not None else None)
    module = declared.module
    for _ in range(5):
        match default:
            case ast.Constant(value=value):
                return value is False
            case ast.Call(args=[first, *_]):
                default = first
            case ast.Call(keywords=words):
                default = next((word.value for word in words if word.arg == "default"), None)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                found = sources.find(module, owner)
                field = keywords.fields(sources, found).get(name) if found is not None else None
                default, module = (field.node.value, field.module) if field is not None else (None, module)
            case _:
                return False
    return False


def _is_deprecated(declared: keywords.Declared) -> bool:
    """Whether it is declared so, its help or the text under its field begins with the word, or its action or the constant with its help is named so."""
    given = declared.keywords.values()
    texts = [str(node.value) for node in given if isinstance(node, ast.Constant)] + [_documented(declared.field)]
    named = any("DEPRECAT" in node.id.upper() for node in given if isinstance(node, ast.Name))
    return "deprecated" in declared.keywords or named or any(re.match(r"\W*deprecated", text, re.IGNORECASE) for text in texts)


def _documented(field: keywords.Field | None) -> str:
    """The text under the field."""
    for owner in ast.walk(field.module.body) if field is not None else ():
        if field is not None and isinstance(owner, ast.ClassDef) and field.node in owner.body:
            match owner.body[owner.body.index(field.node) + 1 :]:
                case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
                    return text
    return ""


def _text(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""
