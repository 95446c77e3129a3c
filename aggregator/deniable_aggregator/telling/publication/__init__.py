"""Publication: the numbers of metrics as they are handed to the press, a board or a regulator.

`publish` asks a server, shows the values that enough devices surely hold, merges all others and
rounds as every table does. Tables in a format are for one metric; a signed `export` holds several,
and `folder` makes a public page of it, the same wherever it is made.
"""
