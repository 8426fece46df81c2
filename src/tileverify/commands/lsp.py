"""The command ``lsp``."""

from __future__ import annotations

import click

from ..system.errors import UsageError


@click.command()
@click.option("--stdio", is_flag=True, help="Taken for granted; some editors say it.")
@click.pass_context
def lsp(context: click.Context, stdio: bool) -> None:
    """Serve an editor: a language server on stdin and stdout (extra `lsp`).

    Shows verdicts and contracts beside kernels, findings with both places, proved repairs. docs/editors.md has settings
    for Neovim, Helix and VS Code.
    """
    try:
        from ..serving.lsp.language_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("lsp needs pygls: pip install 'tileverify[lsp]'") from None
    serve()
    context.exit(0)  # the streams are closed: nothing more is written
