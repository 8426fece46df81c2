"""The desk by the Model Context Protocol's own SDK.  Needs the extra ``mcp``."""

from __future__ import annotations

from ...system.errors import UsageError
from ...system.version import __version__
from .desk import Desk
from .stdio import SdkServer, serve_lines

_INSTRUCTIONS = """\
tileverify proves CUDA Tile kernels (cuda.tile Python) free of data races, out-of-bounds accesses and broken promises.
Send the whole source to check_kernel; it is screened, compiled and proved in a sandbox, and never run elsewhere.
"""


def serve(desk: Desk) -> None:
    """Serve on stdin and stdout until the client hangs up; logs go to stderr.  Raises `UsageError` without the SDK."""
    made = server(desk)
    import anyio

    anyio.run(serve_lines, made)


def server(desk: Desk) -> SdkServer:
    """The three tools."""
    try:
        from anyio.to_thread import run_sync
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        raise UsageError("the command mcp needs the protocol's SDK: pip install 'tileverify[mcp]'") from None
    made = MCPServer("tileverify", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")

    async def check_kernel(source: str, spec: str | None = None, reference: str | None = None) -> str:
        """Verify the kernels of a cuda.tile source; answers in less than 2 kB: verdict, the worst finding with both
        sides of the conflict, a repair that was proved if there is one, and the ids of findings. With a reference, also
        whether the kernel computes exactly the same function, and the element where it does not.

        source: all of the Python source; it may import cuda.tile and math, and holds kernels, helpers, constants.
        spec: launches as TOML, e.g. [[launch]] kernel = "copy", grid = ["cdiv(N, 64)"], args = { x = "f32[N]" }.
        reference: the name of a reference function of this server, to compare results with.
        """
        answer: str = await run_sync(desk.check_kernel, source, spec, reference)
        return answer

    async def get_finding(id: str, page: int = 1) -> str:
        """All that is known of a finding, or of a comparison with a reference, that check_kernel named, as JSON in
        pages of less than 2 kB."""
        answer: str = await run_sync(desk.get_finding, id, page)
        return answer

    async def explain(code: str) -> str:
        """What a code such as TV101, or the id of a repair such as use-atomic, means and what to do about it."""
        answer: str = await run_sync(desk.explain, code)
        return answer

    for tool in (check_kernel, get_finding, explain):
        made.add_tool(tool, structured_output=False)
    served: SdkServer = made
    return served
