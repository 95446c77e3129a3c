"""One metric: its answer in words, pictures and numbers, and every choice that leads to it."""
