"""The pages of ``docs/reference`` that are made from code: ``python -m tools.reference``.

What the code says of a column, a request, a parameter or a problem is said there alone;
``tests/test_reference_pages.py`` fails where a page is out of date.
"""
