"""Facts from real sources, in place of what somebody remembers of them."""
