"""Tools for models that write kernels: ``tileverify mcp``, a server of the Model Context Protocol on stdin and stdout.

`desk` gives the answers and knows nothing of the protocol; `server` offers them by the protocol's own SDK.
"""
