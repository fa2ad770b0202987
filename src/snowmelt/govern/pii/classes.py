"""Classes of personal data: how columns of each are called, and what their values look like."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Privacy(StrEnum):
    """As Snowflake's classification has it."""

    IDENTIFIER = "IDENTIFIER"
    """Tells one person from all others."""
    QUASI_IDENTIFIER = "QUASI_IDENTIFIER"
    """Does so together with others of its kind."""
    SENSITIVE = "SENSITIVE"


@dataclass(frozen=True, slots=True)
class PiiClass:
    name: str
    privacy: Privacy
    names: re.Pattern[str]
    """Names of columns, in small letters, with words apart by underscores."""
    looks: Callable[[str], bool] | None = None
    """Whether a value may be one; None where values say nothing."""


def _names(pattern: str) -> re.Pattern[str]:
    """Whole words at the end of a name, as in `billing_email`; `email_sent` is about something else."""
    return re.compile(rf"(?:^|_)(?:{pattern})$")


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda value: compiled.fullmatch(value.strip()) is not None


_CARD = re.compile(r"\d(?:[ -]?\d){12,18}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_PHONE = re.compile(r"(?:\+|00)\d[\d ()./-]{6,18}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")


def is_card_number(value: str) -> bool:
    """Digits whose check digit is right."""
    if _CARD.fullmatch(value.strip()) is None:
        return False
    digits = [int(char) for char in value if char.isdigit()]
    doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(value: str) -> bool:
    text = value.replace(" ", "").upper()
    if _IBAN.fullmatch(text) is None:
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def is_ip_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value.strip())
    except ValueError:
        return False
    # `1` and the like are addresses to nobody.
    return "." in value or ":" in value


CLASSES = {
    found.name: found
    for found in (
        PiiClass("EMAIL", Privacy.IDENTIFIER, _names("e_?mail(?:_addr(?:ess)?)?"),
                 _matches(r"[\w.+%-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+")),
        PiiClass("PHONE_NUMBER", Privacy.IDENTIFIER,
                 _names("(?:tele)?phone(?:_(?:number|no|nr))?|mobile(?:_number)?|fax"),
                 lambda value: _PHONE.fullmatch(value.strip()) is not None),
        PiiClass("NATIONAL_IDENTIFIER", Privacy.IDENTIFIER,
                 _names("ssn|social_security(?:_number|_no)?|national_id|passport(?:_number|_no)?|tax_id|nino"),
                 _matches(r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")),
        PiiClass("PAYMENT_CARD", Privacy.IDENTIFIER,
                 _names("credit_card(?:_number|_no)?|card_(?:number|no)|ccn|pan"), is_card_number),
        PiiClass("BANK_ACCOUNT", Privacy.IDENTIFIER, _names("iban|bank_account(?:_number|_no)?"), is_iban),
        PiiClass("IP_ADDRESS", Privacy.IDENTIFIER, _names("ip|ip_addr(?:ess)?"), is_ip_address),
        PiiClass("NAME", Privacy.IDENTIFIER,
                 _names("(?:first|last|middle|full|given|family|maiden|sur)_?name|surname|(?:customer|person)_name")),
        PiiClass("STREET_ADDRESS", Privacy.IDENTIFIER, _names("street(?:_address)?|(?:home|postal|billing)_address")),
        PiiClass("DATE_OF_BIRTH", Privacy.QUASI_IDENTIFIER, _names("date_of_birth|birth_?(?:date|day)|dob")),
        PiiClass("GENDER", Privacy.QUASI_IDENTIFIER, _names("gender|sex")),
        PiiClass("SALARY", Privacy.SENSITIVE, _names("salary|wage")),
    )
}  # fmt: skip
"""The order decides between classes that fit equally well."""


def by_name(column: str) -> PiiClass | None:
    """The class that a column's name speaks for."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column).lower().replace(" ", "_").replace("-", "_")
    return next((found for found in CLASSES.values() if found.names.search(words)), None)
