"""The one list of ways to write a secret, for every test that looks where one may come out."""

from __future__ import annotations

MARKER = "Zq7xSECRETIVEwv93"
"""In every secret: whatever shows it shows a secret."""
WORDS = (
    "PASSWORD", "password", "Rsa_Public_Key_2", "AWS_SECRET_KEY", "AZURE_SAS_TOKEN", "MASTER_KEY", "SECRET_STRING",
    "OAUTH_CLIENT_SECRET", "PRIVATE_KEY_PASSPHRASE", "TOKEN", "API_KEY",
)  # fmt: skip
HEADS = (
    "ALTER USER ann SET", "CREATE USER x COMMENT = 'it''s' ",
    "CREATE STAGE s URL = 's3://b/' CREDENTIALS = (AWS_KEY_ID = 'k'",
    "nonsense that does not parse (", "CREATE SECRET s TYPE = PASSWORD USERNAME = 'u'", "SELECT 'a', \"b\" /* x */ ",
)  # fmt: skip
WRITTEN = (f"'{MARKER}'", f"$${MARKER}$$", f'"{MARKER}"', f"'it''s {MARKER}'", f"'\\'{MARKER}'")
ADDRESSES = (f"https://h/c?se=1&sig={MARKER}&x=2", f"s3://user:{MARKER}@host/x")
