"""The essay "Inference as descent": prose, pictures computed beforehand, and the one page that they make."""
