"""The design as people read it: Markdown, HTML, diagrams."""
