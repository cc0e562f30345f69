"""How the code itself stands: its size, its rooms and the arrows between them, its density.

    python -m benchmarks.house [CHECKOUT ...]

One column a checkout, so that two states can be compared. A room is a folder with Python files in `hrmdoc`
or `trainer`, or a module at the root of these; an arrow is a pair of rooms of which one imports the other
when it runs; floors are the longest chain of arrows. A circle is a set of modules that import one another, or
of rooms and modules side by side in one folder, with all that lies below them; `make lint` refuses both.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import networkx as nx
from radon.complexity import cc_visit
from radon.visitors import Function
from ruamel.yaml import YAML

CODE = ("hrmdoc", "trainer", "benchmarks", "tests")
NOT_OURS = {".venv", ".git", "runs", "build"}
WIDTH, CEILING = 110, 15
Files = dict[Path, str]


def main(words: list[str]) -> int:
    """Prints a table in Markdown."""
    roots = [Path(word).resolve() for word in words] or [Path.cwd()]
    columns = [dict(figures(root)) for root in roots]
    print("| | " + " | ".join(root.name for root in roots) + " |\n|---" + "|---" * len(roots) + "|")
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"| {name} | " + " | ".join(str(column.get(name, "")) for column in columns) + " |")
    return 0


def figures(root: Path) -> Iterator[tuple[str, object]]:
    """Every figure of one checkout by its name."""
    files = {path.relative_to(root): path.read_text("utf-8") for path in _files(root)}
    yield from sizes(root, files)
    yield from rooms(files)
    yield from density(files)
    yield "checks of symptoms by clauses: 1, 2 to 5, more", "{}, {}, {}".format(*clauses(root))


def sizes(root: Path, files: Files) -> Iterator[tuple[str, object]]:
    """Lines of code, prose and rules."""
    for folder in CODE:
        yield f"lines of {folder}/", _lines(files, folder)
    prose = [path for path in root.rglob("*.md") if not NOT_OURS & set(path.relative_to(root).parts)]
    yield "lines of prose (*.md)", sum(path.read_text("utf-8").count("\n") for path in prose)
    for folder in ("rules", "tests"):
        texts = [path.read_text("utf-8") for path in (root / folder).rglob("*.yaml")]
        yield f"lines and files of {folder}/**.yaml", f"{sum(t.count(chr(10)) for t in texts)}, {len(texts)}"


def rooms(files: Files) -> Iterator[tuple[str, object]]:
    """The rooms of `hrmdoc` and `trainer`, and what imports what."""
    own = {path: text for path, text in files.items() if path.parts[0] in ("hrmdoc", "trainer")}
    arrows = graph(own, _room)
    yield "rooms, arrows", f"{arrows.number_of_nodes()}, {arrows.number_of_edges()}"
    yield "floors", nx.dag_longest_path_length(nx.condensation(arrows)) + 1
    modules = graph(own, str)
    yield "circles of rooms, of modules", f"{_sibling_circles(modules)}, {_circles(modules)}"
    folders = [path.parent for path in own]
    yield "files in the largest room", max(folders.count(folder) for folder in set(folders))


def density(files: Files) -> Iterator[tuple[str, object]]:
    """Complexity as radon counts it, and width."""
    blocks = [(path.parts[0], block) for path, text in files.items() for block in cc_visit(text)]
    functions = [(folder, one.complexity) for folder, one in blocks if isinstance(one, Function)]
    agent = sum(complexity for folder, complexity in functions if folder == "hrmdoc")
    yield "complexity per line of hrmdoc/", f"{agent / max(1, _lines(files, 'hrmdoc')):.2f}"
    above = [folder for folder, complexity in functions if complexity > CEILING]
    parts = ", ".join(f"{folder} {above.count(folder)}" for folder in CODE)
    yield f"functions above a complexity of {CEILING}", f"{len(above)} ({parts})"
    wide = [line for text in files.values() for line in text.split("\n") if len(line) > WIDTH]
    yield f"lines beyond {WIDTH} columns", len(wide)


def graph(files: Files, place: Callable[[Path], str]) -> nx.DiGraph[str]:
    """Places, and an arrow from each to those that its modules import; what only types ask for is none."""
    names = {_module(path): path for path in files}
    arrows: nx.DiGraph[str] = nx.DiGraph()
    for path, text in files.items():
        if path.parts[1:] == ("__init__.py",):
            continue  # the root's own names are for callers from outside
        arrows.add_node(place(path))
        for wanted in _imports(path, ast.parse(text)):
            found = names.get(wanted) or names.get(wanted.rpartition(".")[0])
            if found is not None and found.parts[1:] != ("__init__.py",) and place(found) != place(path):
                arrows.add_edge(place(path), place(found))
    return arrows


def clauses(root: Path) -> tuple[int, int, int]:
    """How many symptoms have checks of one clause, of two to five, of more."""
    counts = []
    for path in (root / "rules" / "symptoms").rglob("*.yaml"):
        when = YAML(typ="safe", pure=True).load(path.read_text("utf-8")).get("when", {})
        counts += [1 + sum(word in ("and", "or", "if") for word in check.split()) for check in _checks(when)]
    return counts.count(1), sum(2 <= n <= 5 for n in counts), sum(n > 5 for n in counts)


def _files(root: Path) -> Iterator[Path]:
    for folder in CODE:
        yield from sorted((root / folder).rglob("*.py"))


def _lines(files: Files, folder: str) -> int:
    return sum(text.count("\n") for path, text in files.items() if path.parts[0] == folder)


def _room(path: Path) -> str:
    return str(path if len(path.parts) == 2 else path.parent)


def _circles(arrows: nx.DiGraph[str]) -> int:
    return sum(len(circle) > 1 for circle in nx.strongly_connected_components(arrows))


def _sibling_circles(modules: nx.DiGraph[str]) -> int:
    """Circles between what lies in one folder, summed over all folders."""
    count = 0
    for folder in {parent for module in modules for parent in Path(module).parents}:
        siblings: nx.DiGraph[str] = nx.DiGraph()
        for one, other in modules.edges:
            ends = [_child(folder, Path(module)) for module in (one, other)]
            if None not in ends and ends[0] != ends[1]:
                siblings.add_edge(*ends)
        count += _circles(siblings)
    return count


def _child(folder: Path, module: Path) -> str | None:
    """What of a folder holds the module; nothing does where it is outside, or the folder's own `__init__`."""
    if folder not in module.parents or module == folder / "__init__.py":
        return None
    return module.relative_to(folder).parts[0]


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    parts = ("hrmdoc", *parts) if parts[0] == "trainer" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, tree: ast.AST) -> Iterator[str]:
    """Names of modules, and of what is taken from them, as they would be called from outside."""
    own = _module(path).split(".")
    package = own if path.name == "__init__.py" else own[:-1]
    typed = {id(one) for node in ast.walk(tree) if _for_types(node) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _checks(when: object) -> Iterator[str]:
    if isinstance(when, dict):
        for key, value in when.items():
            if key == "check":
                yield str(value)
            yield from _checks(value)
    elif isinstance(when, list):
        for value in when:
            yield from _checks(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
