"""The script ``deniable``, and the commands that need nothing but the light install."""
