"""From a design to a project that runs."""
