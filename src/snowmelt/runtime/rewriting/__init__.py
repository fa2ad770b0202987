"""UPDATE, DELETE and MERGE: bound once, then carried out from here when rows are few and by Spark when many."""
