"""The decisions as a table: each rule with its condition, outcome and reason."""
