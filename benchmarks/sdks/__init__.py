"""Parts of the comparison with other SDKs; see ``benchmarks/client_sdk.py``."""
