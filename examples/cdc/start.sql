-- After the first `snowmelt apply`: new tasks are suspended. Again, it changes nothing.
SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('parse_customers');
SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('parse_orders');
