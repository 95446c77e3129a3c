"""What ``deniable try`` is made of: a device made up for the purpose records every metric once."""
