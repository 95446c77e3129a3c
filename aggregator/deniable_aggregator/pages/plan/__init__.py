"""What a metric will show, before anything ships."""
