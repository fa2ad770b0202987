-- Quality checks for a type 2 dimension `customers` with the key ID.
-- Each query gives the offending rows, and none if all is well.
-- SELECT SYSTEM$CHECK_SCD('customers') counts the same in one go.

-- Two current versions of one key.
SELECT id, COUNT(*) AS current_versions FROM customers WHERE is_current GROUP BY id HAVING COUNT(*) > 1;

-- Versions that overlap: the next one begins before this one has ended.
SELECT id, valid_from, valid_to, LEAD(valid_from) OVER (PARTITION BY id ORDER BY valid_from, valid_to) AS next_from
FROM customers
QUALIFY next_from < valid_to OR (valid_to IS NULL AND next_from IS NOT NULL);

-- Gaps: nothing held between two versions. Where keys can be deleted and come back, they were gone then.
SELECT id, valid_to AS gone_from, LEAD(valid_from) OVER (PARTITION BY id ORDER BY valid_from) AS gone_to
FROM customers
QUALIFY gone_to > gone_from;

-- Versions that end before they begin, and those whose IS_CURRENT says something else than their VALID_TO.
SELECT id, valid_from, valid_to, is_current FROM customers
WHERE valid_to <= valid_from OR is_current <> (valid_to IS NULL);

-- One surrogate key for two versions.
SELECT surrogate_key, COUNT(*) AS versions FROM customers GROUP BY surrogate_key HAVING COUNT(*) > 1;
