"""Which strings are popular that nobody listed: the reports of a trie, read level by level."""
