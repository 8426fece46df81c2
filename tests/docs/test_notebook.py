"""The tutorial notebook is executed, and shows what it shows in the repository; ``--update-golden`` writes it anew."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("cuda.tile", reason="kernels are compiled")
nbformat = pytest.importorskip("nbformat", reason="reads notebooks")
nbclient = pytest.importorskip("nbclient", reason="executes notebooks")
pytest.importorskip("ipykernel", reason="executes notebooks")

NOTEBOOK: Final = Path(__file__).parents[2] / "examples" / "notebook" / "checking.ipynb"

CHANGES: Final = (
    (re.compile(r"\d+(\.\d+)? (ms|s)\b"), "TIME"),
    (re.compile(r", (TIME|from the cache)"), ", TIME"),
    (re.compile(r"z3 [\d.]+"), "z3 VERSION"),
    (re.compile(r"tileverify \d[\w.]*"), "tileverify VERSION"),
)
"""What differs from one run to the next."""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after a run from its first to its last cell."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TILEVERIFY_CACHE_DIR", str(folder / "cache"))
        environment.setenv("IPYTHONDIR", str(folder / "ipython"))
        environment.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def outputs(notebook: Any) -> list[list[str]]:
    """What each code cell shows, without what changes."""
    return [[steady(shown(each)) for each in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def shown(output: Any) -> str:
    if output.output_type == "stream":
        return f"{output.name}: {output.text}"
    return json.dumps(output.data, sort_keys=True)


def steady(text: str) -> str:
    for pattern, word in CHANGES:
        text = pattern.sub(word, text)
    return text


def test_the_notebook_shows_what_it_shows_here(executed: Any, request: pytest.FixtureRequest) -> None:
    kept = nbformat.read(NOTEBOOK, as_version=4)
    if outputs(kept) != outputs(executed) and request.config.getoption("--update-golden"):
        nbformat.write(executed, NOTEBOOK)
        return
    assert outputs(kept) == outputs(executed)


def test_cells_are_called_as_notebooks_do(executed: Any) -> None:
    racy = next(cell for cell in executed.cells if "i // 2" in cell.source and cell.cell_type == "code")
    (card,) = racy.outputs
    assert f"Cell In[{racy.execution_count}], line 6 in double" in card.data["text/plain"]
    assert "tv-refuted" in card.data["text/html"]
    assert "block A and block B both store out" in card.data["text/html"]
    assert "ipykernel" not in card.data["text/html"] + card.data["text/plain"]
