"""The field trial: a simulated deployment on a real server, and every answer beside the truth."""
