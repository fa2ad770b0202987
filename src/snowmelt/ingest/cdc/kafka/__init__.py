"""The route through Kafka: Debezium in Kafka Connect writes topics, and Spark reads them."""
