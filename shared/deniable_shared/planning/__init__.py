"""What a metric will show, worked out before anything ships."""
