"""A conversation about a pipeline: what is open is asked, and requirements come out."""
