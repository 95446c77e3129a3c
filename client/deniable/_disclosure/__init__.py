"""What a device has said, in words for its owner."""
