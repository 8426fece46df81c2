"""What ``mkdocs build`` does besides: results of benchmarks join the site, and no page may ask another host."""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT: Final = Path(__file__).parents[1]
_RESULTS: Final = "benchmarks/results"
_LOADED: Final = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=[\"']?(?:https?:)?//[^\"'\s>]+"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon|modulepreload))[^>]*?\bhref=[\"']?(?:https?:)?//[^\"'\s>]+"
    r"|(?:@import\s+|url\()[\"']?(?:https?:)?//[^\"'\s)]+",
    re.IGNORECASE,
)
"""What a browser fetches by itself; links that a reader may follow are not."""
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?![a-z]+:|#)([^)\s#]+)(#[\w-]+)?\)")


def foreign(text: str) -> list[str]:
    """What a page or style sheet loads from other hosts."""
    return [found.group() for found in _LOADED.finditer(text)]


def on_files(files: Files, config: Any) -> Files:
    """Results that pages link to are pages themselves; their pictures come with them."""
    from mkdocs.structure.files import File

    for path in sorted((ROOT / _RESULTS).rglob("*")):
        if path.suffix in {".md", ".svg"}:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def for_site(markdown: str, page: str) -> str:
    """A page of the repository as one of the site, ``page`` being its place there.

    ``docs`` is the site's root.  Results of benchmarks keep their place.  A link to another file of the repository
    becomes its text.  A link that leads nowhere stays, and ``mkdocs`` refuses it.
    """
    place = PurePosixPath(page if page.startswith(_RESULTS) else f"docs/{page}")

    def relative(found: re.Match[str]) -> str:
        text, target, anchor = found.group(1), found.group(2), found.group(3) or ""
        there = os.path.normpath(place.parent / target)
        if not (ROOT / there).exists():
            return found.group()
        if there.startswith("docs/") or (there.startswith(_RESULTS) and (ROOT / there).is_file()):
            path = os.path.relpath(there.removeprefix("docs/"), PurePosixPath(page).parent)
            return f"[{text}]({path}{anchor})"
        return text

    return _LINK.sub(relative, markdown)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them; tables of results are not searched."""
    if page.file.src_uri.startswith(_RESULTS):
        page.meta["search"] = {"exclude": True}
    return for_site(markdown, page.file.src_uri)


def on_post_build(config: Any) -> None:
    """Refuses a site that is not whole without a network."""
    from mkdocs.exceptions import PluginError

    wrong = [
        f"{path.relative_to(config.site_dir)}: {each}"
        for path in sorted(Path(config.site_dir).rglob("*"))
        if path.suffix in {".html", ".css"}
        for each in foreign(path.read_text(encoding="utf-8"))
    ]
    if wrong:
        raise PluginError("pages load from other hosts:\n" + "\n".join(wrong))
