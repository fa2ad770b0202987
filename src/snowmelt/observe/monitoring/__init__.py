"""What Prometheus and Grafana load: alert rules, a dashboard, a scrape configuration."""
