from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileverify.system.printable import printable


@given(st.text(st.characters(codec=None)))
def test_printable_text_is_one_harmless_line(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not set(shown) & set("\x1b\x9b\t\r\n\b\x07\u202e\u2066")
    shown.encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text
