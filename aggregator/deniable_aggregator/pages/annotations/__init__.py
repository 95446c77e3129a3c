"""The page of annotations: what happened on which day."""
