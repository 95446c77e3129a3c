"""Makes the documentation site: a folder of pages that needs neither a server nor a network.

``make docs`` writes it to ``site/``. The pages are those of ``docs/``, which stay where they are
and are read on a code host, too; what they link to outside of it; and pages about public names and
commands, made from docstrings and from ``--help``. Sphinx, MyST and Furo do the rest. Any warning
of theirs is an error: a broken link, an unknown anchor, a document that is in no navigation.
"""
