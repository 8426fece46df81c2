"""Launches that are verified before they are made.

`launcher` reads a launch off a call (`calls`, `contents`), asks for a proof that covers it (`proofs`), and hands the
proved bytecode to what runs it (`on_cpu`); `bundled` launches what was proved and built elsewhere.
"""
