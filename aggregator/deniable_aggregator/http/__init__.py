"""What all routes share: JSON answers, problem documents and the keys of requests."""
