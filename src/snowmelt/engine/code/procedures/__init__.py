"""Running procedures that users wrote, in processes of their own which call back."""
