"""Every page does what it says: its files are written, its commands run, and what they print is compared.

``--update-golden`` writes what is printed into the pages.
"""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.corpus.examples import examples_of

from .walkthrough import Session, Shell, Written, agrees, blocks

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WRITTEN = [page for page in PAGES if page.parent.name == "codes" and examples_of(page.stem) is not None]
"""By `tools.codes_page`, with what the tool says: `test_site` compares them."""
RUN = [
    page
    for page in PAGES
    if page not in WRITTEN and any(isinstance(block, Session) for block in blocks(page.read_text(encoding="utf-8")))
]


def compiles_cpp(page: Path) -> bool:
    """Whether the page writes a kernel in C++, for which its commands start nvcc."""
    written = (each for each in blocks(page.read_text(encoding="utf-8")) if isinstance(each, Written))
    return any(each.name.endswith(".cu") for each in written)


NEEDED = {page: [pytest.mark.assembler("nvcc")] if compiles_cpp(page) else [] for page in RUN}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=marks, id=page.relative_to(ROOT).as_posix()) for page, marks in NEEDED.items()]
)
def test_page_tells_what_its_commands_print(
    page: Path, tileverify: CommandLine, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / "corpus").symlink_to(ROOT / "corpus", target_is_directory=True)
    text = page.read_text(encoding="utf-8")
    shell = Shell(tileverify)
    wrong: list[tuple[Session, str]] = []
    for block in blocks(text):
        if isinstance(block, Written):
            if block.name.startswith("corpus/"):
                continue
            Path(block.name).parent.mkdir(parents=True, exist_ok=True)
            Path(block.name).write_text(block.text, encoding="utf-8")
            continue
        body, right = "", True
        for command, expected in block.steps():
            printed = shell.run(command)
            if "IsolationUnavailable" in printed:
                pytest.skip("no kind of sandbox can be had")
            same = agrees(printed, expected)
            body += f"$ {command}\n{expected if same else printed.rstrip() + chr(10) + chr(10)}"
            right &= same
        if not right:
            wrong.append((block, body))
    if wrong and request.config.getoption("--update-golden"):
        for block, body in reversed(wrong):
            start, end = block.place
            text = text[:start] + body.rstrip() + "\n" + text[end:]
        page.write_text(text, encoding="utf-8")
        return
    told = [line for block, _ in wrong for line in block.body.splitlines()]
    printed_now = [line for _, body in wrong for line in body.splitlines()]
    assert not wrong, "\n".join(unified_diff(told, printed_now, "the page", "what its commands print", lineterm=""))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_quotes_the_corpus(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if isinstance(block, Written) and block.name.startswith("corpus/"):
            whole = (ROOT / block.name).read_text(encoding="utf-8")
            assert all(part.strip("\n") in whole for part in block.text.split("\n...\n")), block.name


def test_an_output_that_differs_is_seen() -> None:
    assert agrees("proved  k  5 obligations, 31 ms\n", "proved  k  5 obligations, 2.9 s\n")
    assert not agrees("refuted  k  5 obligations, 31 ms\n", "proved  k  5 obligations, 31 ms\n")
    assert agrees("a\nb\nc\n", "a\n...\n")
    assert agrees("a\n", "a\n...\n")
    assert not agrees("a\nb\n", "a\n")
    drawn = "equal to its reference at {} launches (a wrong yes is less likely than 2^-83)\n"
    assert agrees(drawn.format(16), drawn.format(17))
    assert not agrees(drawn.format(16).replace("equal", "different"), drawn.format(16))
    assert not agrees("a\nb\nc\n", "...\nb\n")


def test_there_is_something_to_run() -> None:
    assert {"README.md", "docs/tutorial.md"} <= {page.relative_to(ROOT).as_posix() for page in RUN}
