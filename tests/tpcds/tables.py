"""TPC-DS's 24 tables, with the columns that its 99 queries read."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.core.types import DataType
from tests.ivm.duck import Columns

_MONEY = types.number(7, 2)


def _table(numbers: str, texts: str = "", money: str = "", dates: str = "") -> Columns:
    kinds: tuple[tuple[str, DataType], ...] = (
        (numbers, types.INTEGER), (texts, types.VARCHAR), (money, _MONEY), (dates, types.DATE),
    )  # fmt: skip
    return tuple((name.upper(), kind) for names, kind in kinds for name in names.split())


TABLES: dict[str, Columns] = {
    "CATALOG_SALES": _table(
        numbers=(
            "cs_sold_date_sk cs_sold_time_sk cs_ship_date_sk cs_bill_customer_sk cs_bill_cdemo_sk "
            "cs_bill_hdemo_sk cs_bill_addr_sk cs_ship_customer_sk cs_ship_addr_sk cs_call_center_sk "
            "cs_catalog_page_sk cs_ship_mode_sk cs_warehouse_sk cs_item_sk cs_promo_sk cs_order_number "
            "cs_quantity"
        ),
        money=(
            "cs_wholesale_cost cs_list_price cs_sales_price cs_ext_discount_amt cs_ext_sales_price "
            "cs_ext_wholesale_cost cs_ext_list_price cs_coupon_amt cs_ext_ship_cost cs_net_paid "
            "cs_net_paid_inc_tax cs_net_profit"
        ),
    ),
    "CATALOG_RETURNS": _table(
        numbers=(
            "cr_returned_date_sk cr_item_sk cr_returning_customer_sk cr_returning_addr_sk cr_call_center_sk "
            "cr_catalog_page_sk cr_order_number cr_return_quantity"
        ),
        money=(
            "cr_return_amount cr_return_amt_inc_tax cr_refunded_cash cr_reversed_charge cr_store_credit cr_net_loss"
        ),
    ),
    "INVENTORY": _table(
        numbers="inv_date_sk inv_item_sk inv_warehouse_sk inv_quantity_on_hand",
    ),
    "STORE_SALES": _table(
        numbers=(
            "ss_sold_date_sk ss_sold_time_sk ss_item_sk ss_customer_sk ss_cdemo_sk ss_hdemo_sk ss_addr_sk "
            "ss_store_sk ss_promo_sk ss_ticket_number ss_quantity"
        ),
        money=(
            "ss_wholesale_cost ss_list_price ss_sales_price ss_ext_discount_amt ss_ext_sales_price "
            "ss_ext_wholesale_cost ss_ext_list_price ss_ext_tax ss_coupon_amt ss_net_paid ss_net_profit"
        ),
    ),
    "STORE_RETURNS": _table(
        numbers=(
            "sr_returned_date_sk sr_item_sk sr_customer_sk sr_cdemo_sk sr_store_sk sr_reason_sk sr_ticket_number "
            "sr_return_quantity"
        ),
        money="sr_return_amt sr_net_loss",
    ),
    "WEB_SALES": _table(
        numbers=(
            "ws_sold_date_sk ws_sold_time_sk ws_ship_date_sk ws_item_sk ws_bill_customer_sk ws_bill_addr_sk "
            "ws_ship_customer_sk ws_ship_hdemo_sk ws_ship_addr_sk ws_web_page_sk ws_web_site_sk ws_ship_mode_sk "
            "ws_warehouse_sk ws_promo_sk ws_order_number ws_quantity"
        ),
        money=(
            "ws_wholesale_cost ws_list_price ws_sales_price ws_ext_discount_amt ws_ext_sales_price "
            "ws_ext_wholesale_cost ws_ext_list_price ws_ext_ship_cost ws_net_paid ws_net_profit"
        ),
    ),
    "WEB_RETURNS": _table(
        numbers=(
            "wr_returned_date_sk wr_item_sk wr_refunded_cdemo_sk wr_refunded_addr_sk wr_returning_customer_sk "
            "wr_returning_cdemo_sk wr_returning_addr_sk wr_web_page_sk wr_reason_sk wr_order_number "
            "wr_return_quantity"
        ),
        money="wr_return_amt wr_fee wr_refunded_cash wr_net_loss",
    ),
    "CALL_CENTER": _table(
        numbers="cc_call_center_sk",
        texts="cc_call_center_id cc_name cc_manager cc_county",
    ),
    "CATALOG_PAGE": _table(
        numbers="cp_catalog_page_sk",
        texts="cp_catalog_page_id",
    ),
    "CUSTOMER": _table(
        numbers=(
            "c_customer_sk c_current_cdemo_sk c_current_hdemo_sk c_current_addr_sk c_first_shipto_date_sk "
            "c_first_sales_date_sk c_birth_day c_birth_month c_birth_year"
        ),
        texts=(
            "c_customer_id c_salutation c_first_name c_last_name c_preferred_cust_flag c_birth_country c_login "
            "c_email_address c_last_review_date"
        ),
    ),
    "CUSTOMER_ADDRESS": _table(
        numbers="ca_address_sk",
        texts=(
            "ca_street_number ca_street_name ca_street_type ca_suite_number ca_city ca_county ca_state ca_zip "
            "ca_country ca_location_type"
        ),
        money="ca_gmt_offset",
    ),
    "CUSTOMER_DEMOGRAPHICS": _table(
        numbers="cd_demo_sk cd_purchase_estimate cd_dep_count cd_dep_employed_count cd_dep_college_count",
        texts="cd_gender cd_marital_status cd_education_status cd_credit_rating",
    ),
    "DATE_DIM": _table(
        numbers="d_date_sk d_month_seq d_week_seq d_year d_dow d_moy d_dom d_qoy",
        texts="d_day_name d_quarter_name",
        dates="d_date",
    ),
    "HOUSEHOLD_DEMOGRAPHICS": _table(
        numbers="hd_demo_sk hd_income_band_sk hd_dep_count hd_vehicle_count",
        texts="hd_buy_potential",
    ),
    "INCOME_BAND": _table(
        numbers="ib_income_band_sk ib_lower_bound ib_upper_bound",
    ),
    "ITEM": _table(
        numbers="i_item_sk i_brand_id i_class_id i_category_id i_manufact_id i_manager_id",
        texts="i_item_id i_item_desc i_brand i_class i_category i_manufact i_size i_color i_units i_product_name",
        money="i_current_price i_wholesale_cost",
    ),
    "PROMOTION": _table(
        numbers="p_promo_sk",
        texts="p_channel_dmail p_channel_email p_channel_tv p_channel_event",
    ),
    "REASON": _table(
        numbers="r_reason_sk",
        texts="r_reason_desc",
    ),
    "SHIP_MODE": _table(
        numbers="sm_ship_mode_sk",
        texts="sm_type sm_carrier",
    ),
    "STORE": _table(
        numbers="s_store_sk s_number_employees s_market_id s_company_id",
        texts=(
            "s_store_id s_store_name s_company_name s_street_number s_street_name s_street_type s_suite_number "
            "s_city s_county s_state s_zip"
        ),
        money="s_gmt_offset",
    ),
    "TIME_DIM": _table(
        numbers="t_time_sk t_time t_hour t_minute",
        texts="t_meal_time",
    ),
    "WAREHOUSE": _table(
        numbers="w_warehouse_sk w_warehouse_sq_ft",
        texts="w_warehouse_name w_city w_county w_state w_country",
    ),
    "WEB_PAGE": _table(
        numbers="wp_web_page_sk wp_char_count",
    ),
    "WEB_SITE": _table(
        numbers="web_site_sk",
        texts="web_site_id web_name web_company_name",
    ),
}
