"""A Django site that people host themselves.

::

    python -m django runserver --settings examples.django_site.settings
"""
