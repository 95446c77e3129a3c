"""Makes a release: sdist and wheel of a commit, built twice and compared, with their hashes."""
