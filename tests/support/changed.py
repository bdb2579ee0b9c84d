# SPDX-License-Identifier: GPL-2.0-or-later
"""Names the test files that a change can reach: what ``make test-changed`` runs.

    python tests/support/changed.py [COMMIT]

The change is what differs from COMMIT in this folder, what is not committed too. Without COMMIT:
from where this branch left main; on main itself, from the commit before. Prints the files, one a
line: ``tests`` for all, nothing for none; and says why on standard error.

A test file is reached by
- a Python file that it imports, or that one of these imports, within functions too. A file that
  finds modules by their folder imports all of them. A test that
  starts processes, or that walks the package, is reached by all of nandlab's own.
- a program's folder, if the test or its helpers name it; a test of the board also if nandlab's own
  files that it imports do, or if they name a file of the catalog that does.
- init, modules, and what programs share, if the test uses a board.
- a page, if the test, or a helper of tests that it imports, names docs or the page.
Anything else reaches all tests: catalog and studies, packages, the build, this file, conftest.py.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

EVERYTHING = "tests"
OF_ALL_TESTS = ("conftest", "spent", "outcomes", "changed")
"""Modules of tests that every run has; what they import themselves decides nothing in a test."""
STARTS = re.compile(
    r"\b(subprocess|multiprocessing|create_subprocess_exec|pkgutil|import_module|walk_packages)\b"
    r"|/ \"src\"|PACKAGE\b"
)
"""What a test says that reaches nandlab by another way than an import."""
ON_BOARD = re.compile(r"\bmark\.board\b|\b(any|fresh)_board\b|def \w+\([^)]*\btools: ")
"""What a test file says that uses a board, or programs built by its tools."""
SHARED = ("lib", "ferry")
"""Folders of programs that all others have, or that are in the board's image."""
FINDS_MODULES = "find_module_values("
"""What a file says that imports the modules of the packages that it names."""
WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class Tree:
    """A checkout's files, by their path in it: what the rules are applied to."""

    texts: dict[str, str]
    """Texts of Python files below src and tests, and of the catalog's files."""
    _closures: dict[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def tests(self) -> list[str]:
        """The test files."""
        names = (name for name in self.texts if name.startswith("tests/"))
        return sorted(n for n in names if PurePosixPath(n).match("test_*.py"))

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        """Files by each name that they may be imported by: helpers of tests by their last ones."""
        modules: dict[str, list[str]] = {}
        for name in self.texts:
            path = PurePosixPath(name)
            if path.suffix != ".py":
                continue
            parts = path.with_suffix("").parts[1:]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            firsts = range(len(parts)) if name.startswith("tests/") else (0,)
            for first in firsts:
                modules.setdefault(".".join(parts[first:]), []).append(name)
        return modules

    def _imports(self, name: str) -> Iterator[str]:
        """The files that one imports itself, its packages among them."""
        for node in ast.walk(ast.parse(self.texts[name])):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                of = self._of(name, node)
                targets = [of, *(f"{of}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Constant) and FINDS_MODULES in self.texts[name]:
                targets = self._list_modules_below(node.value)
            else:
                continue
            for module in targets:
                parts = module.split(".")
                for end in range(1, len(parts) + 1):
                    yield from self._modules.get(".".join(parts[:end]), ())

    def _list_modules_below(self, package: object) -> list[str]:
        """The modules of a package's own folder; none: it is no package's name."""
        if not isinstance(package, str) or not package.startswith("nandlab."):
            return []
        return [m for m in self._modules if m.rpartition(".")[0] == package]

    @staticmethod
    def _of(name: str, node: ast.ImportFrom) -> str:
        """The module that names are imported from; a leading dot is of the importing file."""
        if not node.level:
            return node.module or ""
        base = PurePosixPath(name).parts[1 : -node.level]
        return ".".join([*base, *([node.module] if node.module else [])])

    @cached_property
    def imported(self) -> dict[str, frozenset[str]]:
        """For each Python file, those that it imports itself."""
        return {n: frozenset(self._imports(n)) for n in self.texts if n.endswith(".py")}

    @cached_property
    def _fixtures(self) -> dict[str, frozenset[str]]:
        """For each fixture of tests/conftest.py, the files that it uses, by other fixtures too."""
        name = "tests/conftest.py"
        tree = ast.parse(self.texts.get(name, ""))
        of: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                one = Tree({**self.texts, name: ast.unparse(node)})
                for alias in node.names:
                    of.setdefault(alias.asname or alias.name, set()).update(one._imports(name))
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        said = {f: set(WORD.findall(ast.unparse(node))) for f, node in functions.items()}
        files = {
            f: set[str]().union(*(of.get(w, set()) for w in words)) for f, words in said.items()
        }
        for _ in functions:
            for f, words in said.items():
                files[f].update(*(files[w] for w in words & functions.keys()))
        return {f: frozenset(each) for f, each in files.items()}

    def closure(self, test: str) -> frozenset[str]:
        """All Python files that a test file may run: itself, what it imports, what fixtures use."""
        if test not in self._closures:
            said = set(WORD.findall(self.texts[test]))
            todo = [test, *(n for f in self._fixtures.keys() & said for n in self._fixtures[f])]
            reached: set[str] = set()
            while todo:
                name = todo.pop()
                if name not in reached:
                    reached.add(name)
                    todo += self.imported[name]
            if any(STARTS.search(self.texts[n]) for n in reached if n.startswith("tests/")):
                reached |= {n for n in self.texts if n.startswith("src/") and n.endswith(".py")}
            self._closures[test] = frozenset(reached)
        return self._closures[test]

    @cached_property
    def _words(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(WORD.findall(text)) for name, text in self.texts.items()}

    def says(self, test: str, words: Iterable[str], of: str = "") -> bool:
        """Whether a file that the test may run has one of these words; of: only files below it."""
        wanted = set(words)
        return any(wanted & self._words[n] for n in self.closure(test) if n.startswith(of))

    def naming(self, word: str) -> set[str]:
        """The word, and names of the catalog's files that have it."""
        files = (n for n in self.texts if n.startswith("catalog/") and word in self._words[n])
        return {word, *(PurePosixPath(n).stem for n in files)}

    def on_board(self, test: str) -> bool:
        """Whether a test uses a board, or what is built for one."""
        return bool(ON_BOARD.search(self.texts[test]))

    def reached(self, changed: str) -> list[str] | None:
        """The test files that a change to one file reaches; None: all tests."""
        path = PurePosixPath(changed)
        first, second = (*path.parts, "")[:2]
        if first in ("src", "tests") and path.suffix == ".py":
            return self._by_code(changed)
        if (first, second) == ("device", "programs") and len(path.parts) > 3:
            return self._by_program(path.parts[2])
        if first == "device" and second in ("modules", "init"):
            return self._by_board({second, *path.parts[2:3]})
        if path.suffix == ".md" or first == "docs":
            return self._by_page(path)
        return None

    def _by_code(self, changed: str) -> list[str] | None:
        # what is gone was imported by what changed with it
        path = PurePosixPath(changed)
        if changed not in self.texts or (path.parts[0] == "tests" and path.stem in OF_ALL_TESTS):
            return None
        return [t for t in self.tests if changed in self.closure(t)]

    def _by_program(self, name: str) -> list[str]:
        if name in SHARED:
            return self._by_board({name})
        words = self.naming(name)
        return [t for t in self.tests if self.says(t, words, "" if self.on_board(t) else "tests/")]

    def _by_board(self, words: set[str]) -> list[str]:
        wanted = {"DEVICE", "device", *words}
        return [t for t in self.tests if self.on_board(t) or self.says(t, wanted, "tests/")]

    def _by_page(self, path: PurePosixPath) -> list[str]:
        def names_it(test: str) -> bool:
            own = [self.texts[n] for n in self.closure(test) if n.startswith("tests/")]
            return any(path.name in text for text in own) or self.says(test, ["docs"], "tests/")

        return [t for t in self.tests if names_it(t)]


def read(top: Path, files: Iterable[str]) -> Tree:
    """The tree of a checkout's folder and these of its files."""
    known = (
        name
        for name in files
        if (name.startswith(("src/", "tests/")) and name.endswith(".py"))
        or (name.startswith("catalog/") and name.endswith(".toml"))
    )
    return Tree({name: (top / name).read_text() for name in known if (top / name).is_file()})


def git(top: Path, *words: str) -> list[str]:
    """Lines that git prints; SystemExit with what it said if it refuses."""
    done = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def since(top: Path) -> str:
    """The commit that a change is counted from, where none is given."""
    (head,) = git(top, "rev-parse", "HEAD")
    if not git(top, "branch", "--list", "main"):
        return "HEAD~1"
    (left,) = git(top, "merge-base", "HEAD", "main")
    return "HEAD~1" if left == head else left


def changes(top: Path, commit: str) -> list[str]:
    """The files that differ from a commit, by their path; of a renamed one both."""
    new = git(top, "ls-files", "--others", "--exclude-standard")
    return sorted({*git(top, "diff", "--name-only", "--no-renames", commit, "--"), *new})


def selected(tree: Tree, changed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Test files that the changes reach, [EVERYTHING] for all; and a sentence for each change."""
    found: set[str] = set()
    why = []
    for name in changed:
        reached = tree.reached(name)
        if reached is None:
            return [EVERYTHING], [f"{name} may reach every test"]
        why.append(f"{name} reaches {len(reached)} test files")
        found.update(reached)
    return sorted(found), why


def main(words: list[str]) -> None:
    top = Path(__file__).resolve().parents[2]
    commit = words[0] if words else since(top)
    files = git(top, "ls-files", "--cached", "--others", "--exclude-standard")
    tree = read(top, files)
    found, why = selected(tree, changes(top, commit))
    print(f"since {commit}:", *why, file=sys.stderr, sep="\n  ")
    every = EVERYTHING in found
    print(
        f"{'all' if every else len(found)} of {len(tree.tests)} test files are run", file=sys.stderr
    )
    print(*found, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
