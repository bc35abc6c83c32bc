"""The HTML report: one file that works from disk, without a network."""
