"""Expressions over sizes that give a grid."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tileverify.record.recorded import Fit, fits

M, N, B = (128, 2048), (256, 1024), (3, 5)
NAMES = {"M": M, "N": N, "B": B}


def first(
    column: tuple[int, ...], names: Mapping[str, tuple[int, ...]], constants: list[int], *more: list[str]
) -> set[str]:
    """The likeliest forms."""
    return {str(fit.expression) for fit in next(fits(column, names, constants, *more), ())}


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
    assert first(column, NAMES, constants) == {text}


def test_a_constant_of_the_kernel_goes_before_another_tile() -> None:
    names = {"N": (100, 200)}
    assert first((1, 2), names, [100]) == {"cdiv(N, 100)"}
    assert next(fits((1, 2), names, [])) == (Fit("cdiv(N, 128)", guessed=True),)
    assert first((1, 2), names, [111, 100]) == {"cdiv(N, 111)", "cdiv(N, 100)"}  # of equal standing


def test_sizes_and_constants_go_before_a_tile_that_fits_by_chance() -> None:
    names = {"M": (66, 15), "N": (96, 48)}
    groups = list(fits((9, 2), names, [32]))
    assert groups[0] == (Fit("cdiv(M, 32) * cdiv(N, 32)"),)
    assert (Fit("cdiv(M, 8)", guessed=True),) in groups


def test_what_does_not_fit_is_not_made_to() -> None:
    assert not list(fits((17, 13), NAMES, [100]))
    assert not list(fits((1, 3), {"N": (7, 11)}, []))
    assert not list(fits((2, 3), {}, [64]))


def test_a_number_that_stays_may_come_of_sizes() -> None:
    assert list(fits((4, 4), {"N": (500, 510)}, [128])) == [(Fit(4),), (Fit("cdiv(N, 128)"),)]
    assert list(fits((4, 4), {"N": (500, 510)}, [])) == [(Fit(4),)]


def test_products_that_fit_by_chance_stand_beside_each_other() -> None:
    names = {"M": (128, 2048), "K": (64, 512), "N": (256, 1024)}
    meant = (2, 128)
    assert first(meant, names, [128, 64]) == {"cdiv(M, 128) * cdiv(N, 128)", "cdiv(M, 64) * cdiv(K, 128)"}
    assert first(meant, names, [128]) == {"cdiv(M, 128) * cdiv(N, 128)"}


def test_a_grid_covers_what_is_written() -> None:
    names = {"M": (128, 2048), "K": (64, 512), "N": (256, 1024)}
    assert first((2, 128), names, [128, 64], ["M", "N"]) == {"cdiv(M, 128) * cdiv(N, 128)"}
    assert first((3, 5), {"K": (3, 5), "M": (20, 40)}, [8], ["M"]) == {"cdiv(M, 8)"}
    assert first((3, 7), {"K": (3, 7), "M": (20, 40)}, [8], ["M"]) == {"K"}
