"""From decisions to the design: stages with their SQL, gates, alerts, estimates, and steps for operators."""
