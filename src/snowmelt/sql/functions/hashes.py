"""Digests, HASH and the encodings of bytes as text."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.pseudonyms import FUNCTION, LENGTH, tokeniser
from snowmelt.core.types import BINARY, VARCHAR, DataType, Kind, binary, int64, number, varchar
from snowmelt.sql import variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.arguments import any_null, constant_integer, null, text_or_bytes
from snowmelt.sql.functions.registry import FunctionCall, alias, scalar
from snowmelt.sql.patterns import constant_string
from snowmelt.sql.temporal import tz_instant

_Emit = Callable[[FunctionCall], exp.Expr]
_NOT_ENCODED = ("100115", "22000")


def _digest(template: str) -> _Emit:
    return lambda call: spark(template, text_or_bytes(call))


def _sha2(template: str) -> _Emit:
    def emit(call: FunctionCall) -> exp.Expr:
        bits = constant_integer(call, 1, 256)
        if bits is None:
            raise errors.unsupported(f"{call.name} with a digest size that is not a constant")
        if bits not in (224, 256, 384, 512):
            raise errors.invalid_value(str(bits), "digest_size")
        return spark(template, text_or_bytes(call), exp.Literal.number(bits))

    return emit


def _token(call: FunctionCall) -> exp.Expr:
    """Hashes by a function that Spark knows by name, or a constant at once: the key is in no text."""
    value = call.args[0]
    if isinstance(value, exp.Literal):
        return string(str(tokeniser(call.context.token_key)(str(value.this))))
    return spark_call(FUNCTION, value)


def _hash(call: FunctionCall) -> exp.Expr:
    """A 64-bit hash, the same for equal values in every run. Its values are not Snowflake's.

    NULLs count, and each value carries its kind: ('a', NULL) and (NULL, 'a') differ, as do 1 and '1'.
    """
    return row_hash(call)


def row_hash(call: FunctionCall, first: int = 0) -> exp.Expr:
    """The hash of the row that the arguments from `first` on make."""
    given = zip(call.args[first:], call.types[first:], strict=True)
    return spark_call("xxhash64", *(_canonical(tree, type_, call) for tree, type_ in given))


def _canonical(tree: exp.Expr, type_: DataType, call: FunctionCall) -> exp.Expr:
    """Text that is the same for equal values of one kind, whatever their precision and scale."""
    match type_.kind:
        case Kind.NULL:
            return string("")
        case Kind.NUMBER if type_.int64 or not type_.scale:
            return spark("coalesce(concat('n', CAST(_0 AS STRING)), '')", tree)
        case Kind.NUMBER:
            return spark("coalesce(concat('n', rtrim('.', rtrim('0', CAST(_0 AS STRING)))), '')", tree)
        case Kind.FLOAT:
            return bind(tree, lambda value: spark("coalesce(concat('n', _0), '')", variants.float_text(value)))
        case Kind.BINARY:
            return spark("coalesce(concat('b', hex(_0)), '')", tree)
        case Kind.VARCHAR:
            return spark("coalesce(concat('s', _0), '')", tree)
        case Kind.TIMESTAMP_TZ:
            return spark("coalesce(concat('z', CAST(_0 AS STRING)), '')", tz_instant(tree))
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return spark("coalesce(concat('v', to_json(_0)), '')", tree)
        case kind:
            return spark("coalesce(concat(_1, CAST(_0 AS STRING)), '')", tree, string(f"{kind} "))


def _alphabet(call: FunctionCall, index: int) -> str | None:
    """The characters that stand for `+`, `/` and `=`; None for the usual ones."""
    if index >= len(call.args):
        return None
    given = constant_string(call.args[index])
    if given is None:
        raise errors.unsupported(f"{call.name} with an alphabet that is not a constant")
    if len(given) > 3:
        raise errors.invalid_value(given, "alphabet")
    return given


def _base64_encode(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    width = constant_integer(call, 1, 0)
    if width is None or width < 0:
        raise errors.unsupported("BASE64_ENCODE with a line length that is not a constant")
    alphabet = _alphabet(call, 2)
    # Spark breaks lines after 76 characters.
    encoded = spark("replace(base64(CAST(_0 AS BINARY)), _1, '')", text_or_bytes(call), string("\r\n"))
    if alphabet is not None:
        usual = string("+/="[: len(alphabet)])
        encoded = spark("translate(_0, _1, _2)", encoded, usual, string(alphabet))
    if width:
        encoded = spark("regexp_replace(_0, _1, _2)", encoded, string(f"(.{{{width}}})(?=.)"), string("$1\n"))
    return encoded


def _base64_bytes(call: FunctionCall) -> exp.Expr:
    """The bytes, NULL where the text is no base64."""
    alphabet = _alphabet(call, 1)
    text = call.args[0]
    if alphabet is not None:
        text = spark("translate(_0, _1, _2)", text, string(alphabet), string("+/="[: len(alphabet)]))
    return spark("try_to_binary(_0, 'base64')", text)


def _hex_encode(call: FunctionCall) -> exp.Expr:
    case = constant_integer(call, 1, 1)
    if case not in (0, 1):
        raise errors.unsupported("HEX_ENCODE with a case that is not the constant 0 or 1")
    return spark("hex(_0)" if case else "lower(hex(_0))", text_or_bytes(call))


def _hex_bytes(call: FunctionCall) -> exp.Expr:
    """The bytes, NULL where the text is no sequence of pairs of hexadecimal digits."""
    pairs = string(r"\A(?:[0-9A-Fa-f]{2})*\z")
    return spark("CASE WHEN _0 RLIKE _1 THEN unhex(_0) END", call.args[0], pairs)


def _decoder(bytes_of: _Emit, encoding: str, *, text: bool, attempt: bool) -> _Emit:
    def emit(call: FunctionCall) -> exp.Expr:
        if any_null(call):
            return null(call)
        value = bytes_of(call)
        if text:
            value = spark("try_validate_utf8(CAST(_0 AS STRING))", value)
        if attempt:
            return value
        error = fail(
            *_NOT_ENCODED,
            f"The following string is not a legal {encoding}-encoded value: '",
            call.args[0],
            "'",
        )
        return spark("coalesce(_0, CASE WHEN _1 IS NOT NULL THEN _2 END)", value, call.args[0], error)

    return emit


_MD5 = scalar("MD5", "any", varchar(32), _digest("md5(_0)"))
_SHA1 = scalar("SHA1", "any", varchar(40), _digest("sha1(_0)"))
_SHA2 = scalar("SHA2", "any, int", varchar(128), _sha2("sha2(_0, _1)"), least=1)

_KEY = "unhex(sha2(_1, 256))"
_WRONG = ("100311", "22023")


def _encrypt(call: FunctionCall) -> exp.Expr:
    return spark(f"aes_encrypt(_0, {_KEY}, 'GCM', 'DEFAULT', '', _2)", text_or_bytes(call), call.args[1], _added(call))


def _decrypt(*, attempt: bool) -> _Emit:
    def emit(call: FunctionCall) -> exp.Expr:
        arguments = (call.args[0], call.args[1], _added(call))
        found = spark(f"try_aes_decrypt(_0, {_KEY}, 'GCM', 'DEFAULT', _2)", *arguments)
        if attempt:
            return found
        error = fail(*_WRONG, "Decryption failed. Check encrypted data, key, AAD, or AEAD tag.")
        return spark("coalesce(_0, if(_1 IS NULL OR _2 IS NULL, NULL, _3))", found, *call.args[:2], error)

    return emit


def _added(call: FunctionCall) -> exp.Expr:
    """Data that is part of the check, and not of the text."""
    return call.args[2] if len(call.args) > 2 else string("")


FUNCTIONS = (
    scalar("ENCRYPT", "any, str, str", BINARY, _encrypt, least=2, volatile=True),
    scalar("DECRYPT", "bin, str, str", BINARY, _decrypt(attempt=False), least=2),
    scalar("TRY_DECRYPT", "bin, str, str", BINARY, _decrypt(attempt=True), least=2),
    _MD5,
    *alias(_MD5, "MD5_HEX"),
    scalar("MD5_BINARY", "any", binary(16), _digest("unhex(md5(_0))")),
    scalar(
        "MD5_NUMBER_LOWER64",
        "any",
        number(20),
        _digest("CAST(conv(substring(md5(_0), 17), 16, 10) AS DECIMAL(20, 0))"),
    ),
    scalar(
        "MD5_NUMBER_UPPER64",
        "any",
        number(20),
        _digest("CAST(conv(left(md5(_0), 16), 16, 10) AS DECIMAL(20, 0))"),
    ),
    _SHA1,
    *alias(_SHA1, "SHA1_HEX"),
    scalar("SHA1_BINARY", "any", binary(20), _digest("unhex(sha1(_0))")),
    _SHA2,
    *alias(_SHA2, "SHA2_HEX"),
    scalar("SHA2_BINARY", "any, int", binary(64), _sha2("unhex(sha2(_0, _1))"), least=1),
    scalar("HASH", "any", int64(19), _hash, variadic=True),
    scalar("PII_TOKEN", "str", varchar(LENGTH), _token),
    scalar("BASE64_ENCODE", "any, int, str", VARCHAR, _base64_encode, least=1),
    scalar("HEX_ENCODE", "any, int", VARCHAR, _hex_encode, least=1),
    *(
        scalar(
            f"{'TRY_' * attempt}{encoding.upper()}_DECODE_{'STRING' if text else 'BINARY'}",
            takes,
            VARCHAR if text else BINARY,
            _decoder(bytes_of, encoding, text=text, attempt=attempt),
            least=1,
        )
        for encoding, takes, bytes_of in (("base64", "str, str", _base64_bytes), ("hex", "str", _hex_bytes))
        for text in (True, False)
        for attempt in (False, True)
    ),
)
