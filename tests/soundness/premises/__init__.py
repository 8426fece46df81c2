"""Premises of the prover's rules, deleted one at a time: does a kernel or a test notice?"""
