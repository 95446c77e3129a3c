"""Questions about unlisted strings: asking, running in a process of its own, and answering."""
