"""What an account tells of itself: metrics, freshness, alerts, cost."""
