"""The Python sources of one unpacked wheel, read without importing them: modules, and where a name comes from."""

import ast
import dataclasses
import functools
import pathlib

PACKAGE = "vllm"


class Unreadable(Exception):
    """The source is written in a way that this reader does not follow; the message names the place. Teach the reader, never guess."""


@dataclasses.dataclass(frozen=True)
class Module:
    """One source file. `name` is dotted."""

    name: str
    path: pathlib.Path
    body: ast.Module

    def error(self, node: ast.AST, problem: str) -> Unreadable:
        """Return what to raise about this node."""
        return Unreadable(f"{self.path}:{getattr(node, 'lineno', 0)}: {problem}: {ast.unparse(node)[:120]}")


@dataclasses.dataclass(frozen=True)
class Found:
    """A definition and the module that has it."""

    module: Module
    node: ast.AST


class Sources:
    """The package below `root`, which has the folder vllm in it."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.module = functools.cache(self._module)
        self._found: dict[tuple[str, str], Found | None] = {}

    def _module(self, name: str) -> Module | None:
        folder = self.root.joinpath(*name.split("."))
        for path in (folder.with_suffix(".py"), folder / "__init__.py"):
            if path.is_file():
                return Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
        return None

    def find(self, module: Module, name: str) -> Found | None:
        """Return what `name` means at the top of the module (or in an import inside one of its functions); None where it is not the package's own."""
        key = (module.name, name)
        if key not in self._found:
            self._found[key] = None     # for modules that import from each other
            self._found[key] = self._find(module, name)
        return self._found[key]

    def _find(self, module: Module, name: str) -> Found | None:
        for definition in _definitions(module.body):
            if _defines(definition, name):
                return Found(module, definition)
        for node in ast.walk(module.body):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if isinstance(node, ast.ImportFrom) and (alias.asname or alias.name) == name:
                    package = _package(module, node)
                    source = self.module(package) if package.split(".")[0] == PACKAGE else None
                    return self.find(source, alias.name) if source is not None else None
        return None

    def bases(self, found: Found) -> list[Found]:
        """Return the class and its bases within the package, the class first."""
        chain = [found]
        if isinstance(found.node, ast.ClassDef):
            for base in found.node.bases:
                parent = self.find(found.module, base.id) if isinstance(base, ast.Name) else None
                chain += self.bases(parent) if parent is not None and isinstance(parent.node, ast.ClassDef) else []
        return chain

    def method(self, found: Found, name: str) -> Found | None:
        """Return the function of the class, or of the first base that has it."""
        for owner in self.bases(found):
            assert isinstance(owner.node, ast.ClassDef)
            for node in owner.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Found(owner.module, node)
        return None


def _package(module: Module, node: ast.ImportFrom) -> str:
    """The dotted name that an import takes from."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    parts = parts if module.path.name == "__init__.py" else parts[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _definitions(body: ast.Module) -> list[ast.stmt]:
    """The statements at the top of a module, those below `if` and `try` included."""
    found: list[ast.stmt] = []
    waiting: list[ast.stmt] = list(body.body)
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        if isinstance(node, (ast.If, ast.Try)):
            waiting = [*node.body, *node.orelse, *waiting]
    return found


def _defines(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.ClassDef() | ast.FunctionDef():
            return node.name == name
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Name) and target.id == name for target in targets)
        case ast.AnnAssign(target=ast.Name(id=target), value=value):
            return target == name and value is not None
    return False
