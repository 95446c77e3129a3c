"""What differs between operating systems: each function says what it guarantees on which system.

Nothing else in the client uses what one of Linux, macOS and Windows lacks.
"""
