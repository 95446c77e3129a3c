"""What people ask the aggregator over HTTP, and what it answers: one definition of each.

The JSON, its validation, the OpenAPI document and what the command line reads are all made from
the structs in these modules. They import neither Flask, SQLAlchemy, SciPy nor NumPy, so a program
that only talks HTTP needs nothing else of this package.
"""
