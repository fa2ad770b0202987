{# The adapter makes dynamic tables without looking at their contract. These two put it back.

   The first runs before every build of a product, also of one that is there already: another column, a missing one or
   another type ends the model before anything is changed. The second writes the declared columns into the statement, so
   that the server holds the table to them too, whoever creates it, and NOT NULL at every refresh. #}

{% macro check_contract() %}
  {% if execute and config.get('contract').enforced %}
    {% do get_assert_columns_equivalent(model.compiled_code) %}
  {% endif %}
{% endmacro %}


{% macro declared_columns(relation, create) %}
  {% if config.get('contract').enforced and relation ~ '' in create %}
    {% set head, rest = create.split(relation ~ '', 1) %}
    {{ return(head ~ relation ~ ' ' ~ get_table_columns_and_constraints() ~ rest) }}
  {% endif %}
  {{ return(create) }}
{% endmacro %}


{% macro snowflake__create_dynamic_table_info_schema_sql(dynamic_table, relation, sql) %}
  {{ return(declared_columns(relation, dbt.snowflake__create_dynamic_table_info_schema_sql(dynamic_table, relation, sql))) }}
{% endmacro %}


{% macro snowflake__replace_dynamic_table_info_schema_sql(dynamic_table, relation, sql) %}
  {{ return(declared_columns(relation, dbt.snowflake__replace_dynamic_table_info_schema_sql(dynamic_table, relation, sql))) }}
{% endmacro %}
