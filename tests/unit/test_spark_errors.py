"""What a user reads of failures that Spark puts into many lines."""

from __future__ import annotations

from snowmelt.engine.errors import translate

_JAVA = """An error occurred while calling o972.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 160.0 failed 1 times
\tat org.apache.spark.errors.Some.where(Some.scala:456)
Caused by: {cause}
\tat org.apache.spark.memory.MemoryConsumer.throwOom(MemoryConsumer.java:157)
"""


def test_the_cause_is_told_and_not_the_call() -> None:
    found = translate(Exception(_JAVA.format(cause="java.io.IOException: No space left on device")))
    assert (found.code, found.message) == ("300002", "Execution failed: IOException: No space left on device")


def test_memory_that_is_short_says_what_to_do() -> None:
    cause = "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes"
    found = translate(Exception(_JAVA.format(cause=cause)))
    assert found.code == "300002"
    assert "ran out of memory" in found.message
    assert "spark.driver.memory" in found.text


def test_without_a_cause_the_first_line_is_all() -> None:
    assert translate(Exception("something broke\nsomewhere")).message == "Execution failed: something broke"
