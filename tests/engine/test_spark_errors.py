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
    found = translate(Exception(_JAVA.format(cause="java.io.IOException: Stream closed")))
    assert (found.code, found.message) == ("300002", "Execution failed: IOException: Stream closed")


def test_a_full_disk_is_one_wherever_it_shows() -> None:
    found = translate(Exception(_JAVA.format(cause="java.io.IOException: No space left on device")))
    assert (found.code, found.sqlstate) == ("370002", "53100")
    assert "disk is full" in found.message


def test_memory_that_is_short_says_what_to_do() -> None:
    cause = "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes"
    found = translate(Exception(_JAVA.format(cause=cause)))
    assert found.code == "300002"
    assert "ran out of memory" in found.message
    assert "spark.driver.memory" in found.text


def test_without_a_cause_the_first_line_is_all() -> None:
    assert translate(Exception("something broke\nsomewhere")).message == "Execution failed: something broke"


def test_a_subquery_that_spark_can_not_take_apart_is_refused_by_name() -> None:
    cause = "org.apache.spark.SparkException: [INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND] Could not find c0#1L in [N#2L]."
    found = translate(Exception(_JAVA.format(cause=cause)))
    assert (found.code, found.sqlstate) == ("002031", "42601")
    assert "Unsupported subquery type" in found.message and "c0#1L" not in found.message
    assert "WITH clause" in found.text
