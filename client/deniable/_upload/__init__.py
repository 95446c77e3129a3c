"""When reports are sent, and what their answers mean."""
