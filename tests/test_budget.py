"""The budget: how many files, and lines of code, each room may hold, and how long a file or a function may be.

``[tool.scentline.budget]`` in pyproject.toml has a line a room. What is over it fails, and so does what is more
than 3 % under it: a budget falls with what is taken out. ``make budget`` prints the table as it would be now.
"""

import ast
import io
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.cases import each_case

ROOT = Path(__file__).parents[1]
#: Rooms of which each folder is one.
PRODUCT = ("agents", "models", "streams")
#: What is under this share of its budget has a budget that is too large.
LEAST = 0.97
FILE, FUNCTION = 400, 60
#: Of a line that holds no other token it is said that it is no code.
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Return the lines with a token that is neither comment nor docstring."""
    statements = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    docstrings = {
        (value.lineno, value.col_offset)
        for value in statements
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK and token.start not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def room_of(path: Path) -> str:
    """Return the room of a file: its first folder, in the product and the laboratory with what is within."""
    *folders, _ = path.relative_to(ROOT).parts
    return "/".join(folders[: 2 if folders[0] in PRODUCT else 3 if folders[:2] == ["bench", "lab"] else 1])


def python_files() -> Iterator[Path]:
    for room in (*PRODUCT, "bench", "deploy", "tests"):
        yield from sorted((ROOT / room).rglob("*.py"))


def measured() -> dict[str, dict[str, int]]:
    """Return what is in each room: files, and lines of code or, of docs, words."""
    rooms: dict[str, Counter[str]] = {}
    for path in python_files():
        size = code_lines(path.read_text(encoding="utf-8"))
        rooms.setdefault(room_of(path), Counter()).update(files=1, code=size)
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    return {**rooms, "docs": Counter(files=len(pages), words=words)}


def too_long() -> dict[str, int]:
    """Return the lines of each file, and of each function by its name behind a colon, that is too long."""
    found: dict[str, int] = {}
    for path in python_files():
        name, source = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if (lines := source.count("\n")) > FILE:
            found[name] = lines
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION:
                    found[f"{name}:{node.name}"] = lines
    return found


def test_no_room_is_over_its_budget_or_far_under_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found, allowed = measured(), project["tool"]["scentline"]["budget"]
    assert found.keys() == allowed.keys()
    sizes = {(room, unit): size for room, of in found.items() for unit, size in of.items()}
    budget = {(room, unit): allowed[room][unit] for room, unit in sizes}
    strayed = {
        at: f"{size} where its budget has {budget[at]}"
        for at, size in sizes.items()
        if not LEAST * budget[at] <= size <= budget[at]
    }
    assert strayed == {}


def test_no_file_and_no_function_is_too_long() -> None:
    assert too_long() == {}


@each_case(("source", "lines"), [("", 0), ("def f():\n    'd'\n    return (\n1)\n", 3), ("'a'; x = 1", 1)])
def test_lines_of_code_are_counted(source: str, lines: int) -> None:
    assert code_lines(source) == lines


if __name__ == "__main__":
    print("[tool.scentline.budget]")
    for room, sizes in measured().items():
        print(f'"{room}" = {{ {", ".join(f"{unit} = {size}" for unit, size in sizes.items())} }}')
