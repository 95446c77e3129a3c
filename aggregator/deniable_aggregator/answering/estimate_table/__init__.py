"""The SQL table of estimates: what is to be written, writing it beside the server, reading it."""
