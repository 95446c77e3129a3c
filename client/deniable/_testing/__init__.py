"""What ``deniable.testing`` and its pytest plugin are made of."""
