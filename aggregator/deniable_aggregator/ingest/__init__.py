"""From an upload to durable rows of the inbox."""
