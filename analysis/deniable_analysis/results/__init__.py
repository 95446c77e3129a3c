"""What questions give: an answer with its sentence, its warnings, a frame and a chart."""
