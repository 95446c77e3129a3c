"""Finding strings that nobody listed: asking, running in a process of its own, and answering."""
