"""Every file, module, option and `make` target that a document names is there under that name (`names.py` says how)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from .names import ROOT, missing

PAGES: Final = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("README.md"),
        *(ROOT / "benchmarks" / "results").glob("[a-z]*.md"),
        *(ROOT / "examples").rglob("README.md"),
        *(ROOT / "editors").glob("*/README.md"),
        ROOT / "proofs" / "README.md",
        ROOT / "campaigns" / "README.md",
    }
)

ELSEWHERE: Final = {
    "benchmarks/real/flashinfer/README.md": {
        "fused_moe/runners.py": "flashinfer's",
        "gemm_base.py": "flashinfer's",
        "mla/_batch_mla/_backends/_cutile_prepared.py": "flashinfer's",
    },
    "docs/ci.md": {"tileverify.sarif": "a file that the reader's run writes"},
    "docs/editors.md": {
        "config.toml": "Helix's",
        "init.lua": "Neovim's",
        "languages.toml": "Helix's",
        "tileverify.command": "a setting of the extension",
        "tileverify.vsix": "what packaging the extension writes",
    },
    "docs/findings.md": {"_passes/token_order.py": "cuda.tile's", "--enable-tile": "nvcc's", "--sanitize": "tileiras'"},
    "docs/record.md": {"index.json": "written by `record`", "--tilecubin": "nvcc's", "--enable-tile": "nvcc's"},
    "docs/reports.md": {"report.json": "a file that the reader's run writes"},
    "docs/specs.md": {"NAME.py": "stands for any name", "NAME.cu": "stands for any name"},
    "docs/tile-cpp.md": {"--enable-tile": "nvcc's"},
    "editors/vscode/README.md": {
        "tileverify.command": "a setting of the extension",
        "tileverify.vsix": "what packaging the extension writes",
    },
    "examples/qwen3/README.md": {"config.json": "Hugging Face's", "tokenizer.json": "Hugging Face's"},
}
"""Names of other projects' files and options, and of files of readers: by page, each with whose it is."""


def unknown(page: Path) -> list[str]:
    """What a page names that is neither here nor known to be elsewhere."""
    excused = ELSEWHERE.get(page.relative_to(ROOT).as_posix(), {})
    found = missing(page.read_text(encoding="utf-8"), page.parent)
    return [str(each) for each in found if each.name.split(": ")[-1] not in excused]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    assert not unknown(page)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_every_excuse_is_needed(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = {each.name.split(": ")[-1] for each in missing(text, (ROOT / page).parent)}
    assert found == set(ELSEWHERE[page])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The prover is `verifier/verified.py`.", "verifier/verified.py"),
        ("A bare name is none: `verify.py`.", "verify.py"),
        ("`frontend/symbolic` holds `recurrences.py`, and not `counters.py`.", "counters.py"),
        ("It starts in `backend/lunch`.", "backend/lunch"),
        ("See `docs/soundnes.md`.", "docs/soundnes.md"),
        ("See [soundness](docs/soundnes.md#2-theorem).", "docs/soundnes.md"),
        ("Run `python -m campaigns.generated.champaign`.", "campaigns.generated.champaign"),
        ("```sh\npython -m campaigns.seeds --seed 3\n```", "campaigns.seeds --seed"),
        ("`python -m benchmarks.recheck` takes `--markdwon`.", "--markdwon: --markdwon"),
        ("`tileverify.lauch` makes one.", "tileverify.lauch"),
        ("`tileverify check --fxi` mends it.", "tileverify check --fxi: --fxi"),
        ("`check --reference` is `gate`'s.", "check --reference: --reference"),
        (
            "```console\n$ tileverify equal k.py::k --refrence r.py::r\n```",
            "tileverify equal k.py::k --refrence r.py::r: --refrence",
        ),
        ("`--no-such-option` does nothing.", "--no-such-option: --no-such-option"),
        ("`make tests` runs them.", "make tests"),
    ],
)
def test_a_name_that_leads_nowhere_is_found(text: str, name: str) -> None:
    assert [each.name for each in missing(text, ROOT)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "`verifier/verify.py` and `tests/docs/names.py`, `docs/soundness.md`",
        "`frontend/symbolic` has `pointers.py`",
        "[`pointers.py`](src/tileverify/frontend/symbolic/pointers.py)",
        "`campaigns.seeds`, `tileverify.launch`, `tools.codes_page.FOLDER`",
        "`python -m benchmarks.recheck --replay 50`, also with `--markdown FILE`",
        "`tileverify check --fix k.py`, `gate --reference r.py::f`, `--no-cache`",
        "`--tileverify-no-gpu`, `--update-golden`",
        'Save `blur.py`:\n\n```python title="blur.py"\n```',
        "`make test`",
        "`rms_norm`, `x = 1`, `a/b` and `--` are no names of ours",
    ],
)
def test_a_name_that_is_there_is_let_pass(text: str) -> None:
    assert not missing(text, ROOT)
