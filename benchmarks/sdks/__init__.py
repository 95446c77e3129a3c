"""The client beside the SDKs that applications embed today: see ``benchmarks/client_sdk.py``."""
