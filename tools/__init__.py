"""Programs that make what the repository ships. None of them is in the wheel."""
