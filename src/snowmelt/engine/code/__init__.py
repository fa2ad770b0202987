"""Running Python that users wrote, in processes of its own."""
