"""The page of the library's kernels says what sources, specs and proofs say.

``--update-golden`` writes it anew, family by family.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.kernels.proved import checked
from tools.kernels_page import DEVICE, PAGE, families, host_functions, kernels_of, page, section
from tools.launched_kernels import launched_by

from tileverify import kernels


def sections_of_page() -> dict[str, str]:
    """What the page has of each family."""
    _, *sections = re.split(
        rf"^(?=## .* {{ #(?:{'|'.join(map(anchor, families()))}) }}$)", written(), flags=re.MULTILINE
    )
    return {re.findall(r"{ #([\w-]+) }", each)[0]: each.rstrip() + "\n" for each in sections}


def written() -> str:
    return PAGE.read_text(encoding="utf-8")


def anchor(family: str) -> str:
    return family.replace("_", "-")


@pytest.mark.parametrize("family", families())
def test_a_family_is_as_its_sources_and_proofs_say(family: str, request: pytest.FixtureRequest) -> None:
    expected = section(family, checked(DEVICE / f"{family}.py"))
    found = sections_of_page()
    if request.config.getoption("--update-golden"):
        found[anchor(family)] = expected
        PAGE.write_text(page([found[name] for name in map(anchor, families()) if name in found]), encoding="utf-8")
        found = sections_of_page()
    assert found[anchor(family)].strip() == expected.strip(), "run: python -m tools.kernels_page"


def test_head_and_host_functions(request: pytest.FixtureRequest) -> None:
    found = sections_of_page()
    expected = page(list(found.values()))
    if request.config.getoption("--update-golden"):
        PAGE.write_text(expected, encoding="utf-8")
    assert written() == expected, "run: python -m tools.kernels_page"
    assert list(found) == list(map(anchor, families()))


def test_every_host_function_is_seen_to_launch_something() -> None:
    functions = {name for name in kernels.__all__ if re.match("[a-z]", name)}
    assert set(host_functions()) == functions - {"use"}


def test_names_that_are_put_together_are_found() -> None:
    names = {family: [each.name for each in kernels_of(family)] for family in families()}
    of_softmax = {name for family, name in launched_by(("reductions", "softmax"), names)}
    assert of_softmax == {"softmax", "softmax_short", "softmax_row", "softmax_three", "softmax_backward"}
    of_norm = {f"{family}.{name}" for family, name in launched_by(("activations", "rms_norm"), names)}
    assert {"norms.rms_norm_short", "norms.rms_norm_weight_partials", "moving.column_sums"} <= of_norm
    assert not launched_by(("prepared", "use"), names)


def test_families_are_the_modules() -> None:
    assert {Path(name).stem for name in families()} == {path.stem for path in DEVICE.glob("*.py")} - {"__init__"}
