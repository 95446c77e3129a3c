"""Pictures of answers; needs the extra ``charts``."""
