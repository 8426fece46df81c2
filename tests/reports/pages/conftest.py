"""A headless Chromium for the tests of pages, with everything noted that a page must not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str | None:
    """The browser on this machine; ``TILEVERIFY_CHROMIUM`` names another."""
    return os.environ.get("TILEVERIFY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """While it is there, this thread has a running event loop, which tests of other modules cannot do with."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `test`)")
    executable = chromium()
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path, and TILEVERIFY_CHROMIUM is not set")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield found
        found.close()


@dataclass
class Opened:
    """A page in the browser; ``complaints``: console errors, requests that left the page, dialogs."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def open_launch(self, name: str) -> None:
        """The page of the first launch whose row holds ``name``."""
        row = self.page.locator("#launches tbody tr", has_text=name).first
        self.page.evaluate("id => { location.hash = id; }", row.get_attribute("data-id"))
        self.page.locator("#kernel h1").wait_for()

    def rows(self) -> list[str]:
        """Titles of the rows that are shown."""
        links = self.page.locator("#launches tbody tr:not([hidden]) a")
        return [text.split(" ")[0] for text in links.all_inner_texts()]


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from its text.  At the end no page may have complained."""
    contexts: list[Any] = []
    pages: list[Opened] = []

    def opened(text: str, **options: Any) -> Opened:
        file = tmp_path / f"page{len(pages)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        found = Opened(context.new_page())
        pages.append(found)
        found.page.on("console", lambda m: found.complaints.append(m.text) if m.type in ("error", "warning") else None)
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("dialog", lambda dialog: found.complaints.append(dialog.message))
        found.page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((file.as_uri(), "data:", "blob:"))
                else found.complaints.append(request.url)
            ),
        )
        found.page.goto(file.as_uri())
        found.page.locator("html[data-ready]").wait_for(state="attached")
        return found

    yield opened
    for context in contexts:
        context.close()
    assert [complaint for each in pages for complaint in each.complaints] == []
