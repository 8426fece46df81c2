"""Expressions over sizes that give a grid."""

from __future__ import annotations

import pytest

from tileverify.record.fitting import fitted

M, N, B = (128, 2048), (256, 1024), (3, 5)
NAMES = {"M": M, "N": N, "B": B}


def blocks(size: int, tile: int) -> int:
    return -(-size // tile)


@pytest.mark.parametrize(
    ("column", "constants", "text"),
    [
        (M, [], "M"),
        (tuple(blocks(m, 100) for m in M), [100], "cdiv(M, 100)"),
        (tuple(blocks(n, 64) for n in N), [1, 100], "cdiv(N, 64)"),
        (tuple(m * b for m, b in zip(M, B, strict=True)), [], "M * B"),
        (tuple(b * blocks(n, 100) for n, b in zip(N, B, strict=True)), [100], "B * cdiv(N, 100)"),
        ((2 * 3, 22 * 12), [96, 90], "cdiv(M, 96) * cdiv(N, 90)"),
        (tuple(7 * blocks(m, 96) for m in M), [96], "7 * cdiv(M, 96)"),
        (tuple(min(9, blocks(m, 96)) for m in M), [96], "min(9, cdiv(M, 96))"),
    ],
)  # fmt: skip
def test_forms_that_grids_have(column: tuple[int, ...], constants: list[int], text: str) -> None:
    assert fitted(column, NAMES, constants) == text


def test_a_constant_of_the_kernel_goes_before_another_tile() -> None:
    names = {"N": (100, 200)}
    assert fitted((1, 2), names, [100]) == "cdiv(N, 100)"
    assert fitted((1, 2), names, []) == "cdiv(N, 128)"
    assert fitted((1, 2), names, [111, 100]) == "cdiv(N, 111)"  # both fit: the first parameter's


def test_what_does_not_fit_is_not_made_to() -> None:
    assert fitted((17, 13), NAMES, [100]) is None
    assert fitted((1, 3), {"N": (7, 11)}, []) is None
    assert fitted((2, 3), {}, [64]) is None


def test_products_that_fit_by_chance_are_not_chosen_from() -> None:
    names = {"M": (128, 2048), "K": (64, 512), "N": (256, 1024)}
    meant = (2, 128)  # cdiv(K, 128) * cdiv(M, 64) as well
    assert fitted(meant, names, [128, 64]) is None
    assert fitted(meant, names, [128]) == "cdiv(M, 128) * cdiv(N, 128)"


def test_a_grid_covers_what_is_written() -> None:
    names = {"M": (128, 2048), "K": (64, 512), "N": (256, 1024)}
    assert fitted((2, 128), names, [128, 64], ["M", "N"]) == "cdiv(M, 128) * cdiv(N, 128)"
    assert fitted((3, 5), {"K": (3, 5), "M": (20, 40)}, [8], ["M"]) == "cdiv(M, 8)"
    assert fitted((3, 7), {"K": (3, 7), "M": (20, 40)}, [8], ["M"]) == "K"
