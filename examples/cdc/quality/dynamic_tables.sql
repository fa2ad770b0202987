-- Is every dynamic table what its query gives at its data timestamp, and does every version follow the one before?
-- The first column says so; the second has the details.
SELECT PARSE_JSON(SYSTEM$CHECK_DYNAMIC_TABLE('customers')):equal::BOOLEAN AS sound, 'customers' AS what;
SELECT PARSE_JSON(SYSTEM$CHECK_DYNAMIC_TABLE('order_facts')):equal::BOOLEAN AS sound, 'order_facts' AS what;
SELECT PARSE_JSON(SYSTEM$CHECK_DYNAMIC_TABLE('revenue_by_city')):equal::BOOLEAN AS sound, 'revenue_by_city' AS what;
SELECT PARSE_JSON(SYSTEM$CHECK_SCD('customers')):sound::BOOLEAN AS sound, 'versions of customers' AS what;
