"""Case files: what they say, and the study that they mean."""
