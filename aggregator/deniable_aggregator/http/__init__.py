"""What all routes share: problem documents and the keys of requests."""
