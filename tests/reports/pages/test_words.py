"""Clauses in plain words."""

from __future__ import annotations

import pytest

from tileverify.reports.html.kernel import in_words


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("any grid", "the grid may have any size"),
        ("grid = (cdiv(M, 128) * cdiv(N, 128))", "a grid of ⌈M / 128⌉ · ⌈N / 128⌉ tile blocks"),
        ("grid = (cdiv(S, 128), B * 4 * H, 2)", "a grid of ⌈S / 128⌉ × B · 4 · H × 2 tile blocks"),
        ("grid.x <= cdiv(N, 64)", "the grid's width is at most ⌈N / 64⌉"),
        ("1 <= N", "N is at least 1"),
        ("0 < N", "N is above 0"),
        ("K % 64 == 0", "K is a multiple of 64"),
        ("x.shape[0] == n", "x.shape[0] equals n"),
        ("(a + b) * c < 2 ** 31", "(a + b) · c is below 2 ** 31"),
        ("x is out", "x and out are one array"),
        ("a == 1 and b >= 2", "a equals 1, and b is at least 2"),
        ("range(idx, 0, N)", "every value in idx lies from 0 to below N"),
        ("injective(idx, unless=-1)", "no value occurs twice in idx; -1 excepted"),
        ("ranks(idx, keys, 8)", "idx numbers the equal keys of every 8 elements of keys"),
        (
            "buckets(idx, keys, 8, N)",
            "the buckets that begin at idx, N for every 8 elements of keys, have room for the elements with their key "
            "and do not meet",
        ),
        ("segments(starts, lengths)", "the segments that begin at starts with the lengths in lengths do not meet"),
        ("x and out may overlap", ""),
        ("out = f32[M, N]", ""),
        ("</script>", ""),
    ],
)
def test_words(clause: str, words: str) -> None:
    assert in_words(clause) == words
