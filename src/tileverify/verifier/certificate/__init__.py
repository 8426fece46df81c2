"""Proofs that outlive the run that found them: written by ``check --certificate``, read by ``recheck``."""
