"""What one add_argument call gives to argparse: the option's words, its keywords, and the field of a configuration class that it is made from."""

import ast
import dataclasses
from collections.abc import Iterator

from .sources import Found, Module, Sources

ADD = "add_argument"
Keywords = dict[str, ast.expr | None]     # None: the function deletes it
_Place = tuple[str, str]                  # variable and key of `variable["key"]`; no key where the variable is one field's keywords itself


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a configuration class, where it is defined."""

    module: Module
    node: ast.AnnAssign


@dataclasses.dataclass(frozen=True)
class Declared:
    """One option: its words as written, with their dashes."""

    module: Module
    words: list[str]
    keywords: Keywords
    field: Field | None


class Scope:
    """One function that adds options; `owner` is the class that it is called on."""

    def __init__(self, sources: Sources, function: Found, owner: Found | None) -> None:
        self.sources, self.module, self.owner = sources, function.module, owner
        self.classes: dict[_Place, Found] = {}
        self.aliases: dict[str, _Place] = {}
        self.edits: dict[_Place, Keywords] = {}
        self.loops: dict[str, list[str]] = {}
        for node in ast.walk(function.node):
            self._learn(node)
        for body in reversed(sources.bases(owner)) if owner is not None else ():
            for node in ast.walk(body.node):
                self._edit(node)        # a class prepares the keywords in functions beside the one that adds the options
        for node in ast.walk(function.node):
            self._edit(node)

    def declared(self, node: ast.Call) -> Iterator[Declared]:
        """Yield the options of one add_argument call; Unreadable where its words or keywords come from elsewhere."""
        if any(isinstance(word, ast.JoinedStr) for word in node.args):
            yield from self._all_of_a_class(node)
            return
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id in self.loops:
            for name in self.loops[node.args[0].id]:
                yield Declared(self.module, [name], {word.arg: word.value for word in node.keywords if word.arg is not None}, None)
            return
        words = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        if not words or len(words) != len(node.args):
            raise self.module.error(node, "an option without a name")
        if words[0].startswith("-"):
            own: Keywords = {word.arg: word.value for word in node.keywords if word.arg is not None}
            place = self._spread(node, own)
            field = self._field(node, place) if place is not None else None
            yield Declared(self.module, words, (self.edits.get(place, {}) if place is not None else {}) | own, field)

    def _learn(self, node: ast.AST) -> None:
        """`x = get_kwargs(Class)`, `x = get_kwargs(Class)["field"]`, `x = y["field"]`, `for x, … in [("--name", …), …]`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=made)])):
                self.classes[name, ""] = self._class(node, made)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=made)]), slice=ast.Constant(value=str(key))),
            ):
                self.classes[name, ""] = self._class(node, made)
                self.aliases[name] = (name, key)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=other), slice=ast.Constant(value=str(key)))):
                self.aliases[name] = (other, key)
            case ast.For(target=ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_]), iter=ast.List(elts=items) | ast.Tuple(elts=items)):
                firsts = [item.elts[0] if isinstance(item, ast.Tuple) and item.elts else item for item in items]
                self.loops[name] = [str(first.value) for first in firsts if isinstance(first, ast.Constant)]

    def _class(self, node: ast.AST, name: str) -> Found:
        found = self.owner if name == "cls" else self.sources.find(self.module, name)
        if found is None:
            raise self.module.error(node, "fields of an unknown class")
        return found

    def _edit(self, node: ast.AST) -> None:
        """`x["field"]["key"] = …`, `del x["field"]["key"]`, and the same of a variable that is one field's."""
        match node:
            case ast.Assign(targets=[ast.Subscript(value=value, slice=ast.Constant(value=str(key)))]) if (place := self._place(value)) is not None:
                self.edits.setdefault(place, {})[key] = node.value
            case ast.Delete(targets=[ast.Subscript(value=value, slice=ast.Constant(value=str(key)))]) if (place := self._place(value)) is not None:
                self.edits.setdefault(place, {})[key] = None

    def _place(self, node: ast.expr) -> _Place | None:
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                return (name, key)
        return None

    def _spread(self, node: ast.Call, own: Keywords) -> _Place | None:
        """The place that `**` takes its keywords from; those beside it in a literal go into `own`."""
        spread = [word.value for word in node.keywords if word.arg is None]
        if not spread:
            return None
        value = spread[0]
        if isinstance(value, ast.Dict) and value.keys and value.keys[0] is None:
            for key, part in zip(value.keys[1:], value.values[1:], strict=True):
                own[str(getattr(key, "value", ""))] = part
            value = value.values[0]
        place = self._place(value)
        if len(spread) > 1 or place is None or (place[0], "") not in self.classes:
            raise self.module.error(node, "keywords of unknown origin")
        return place

    def _field(self, node: ast.AST, place: _Place) -> Field:
        owner = self.classes[place[0], ""]
        field = fields(self.sources, owner).get(place[1])
        if field is None:
            raise self.module.error(node, f"{getattr(owner.node, 'name', '')} has no field {place[1]}")
        return field

    def _all_of_a_class(self, node: ast.Call) -> Iterator[Declared]:
        """`for key, value in kwargs.items(): group.add_argument(f"--{key…}", **value)`: every field is an option."""
        if len(self.classes) != 1:
            raise self.module.error(node, "a loop over the fields of more than one class")
        ((variable, _), owner), = self.classes.items()
        for name, field in fields(self.sources, owner).items():
            yield Declared(self.module, [f"--{name.replace('_', '-')}"], self.edits.get((variable, name), {}), field)


def fields(sources: Sources, owner: Found) -> dict[str, Field]:
    """Return the fields of a class and its bases by name."""
    found: dict[str, Field] = {}
    for base in reversed(sources.bases(owner)):
        for node in base.node.body if isinstance(base.node, ast.ClassDef) else ():
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "ClassVar" not in ast.unparse(node.annotation):
                found[node.target.id] = Field(base.module, node)
    return found
