"""Logging in with each kind of secret that clients have, in the page itself."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from playwright.sync_api import Browser, Page, expect

from snowmelt.accounts import open_account
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, Serving, served
from tests.serve.console.browser import opened
from tests.serve.console.using import check_access


def _log_in(page: Page, way: str, user: str, label: str, secret: str) -> None:
    page.goto("/")
    page.get_by_role("radio", name=way).check()
    page.get_by_label("User").fill(user)
    page.get_by_label(label, exact=True).last.fill(secret)
    check_access(page)
    page.get_by_role("button", name="Log in").click()


def test_a_token_and_a_key_log_in_and_stay_out_of_the_page(browser: Browser, shop: Serving) -> None:
    admin = shop.admin()
    admin.execute_script(
        f"CREATE USER kim PASSWORD = '{PASSWORD}' DEFAULT_ROLE = reader; GRANT ROLE reader TO USER kim"
    )
    made = admin.execute("ALTER USER kim ADD PROGRAMMATIC ACCESS TOKEN page ROLE_RESTRICTION = 'READER'")
    token = dict(zip([column.name for column in made.columns], made.rows()[0], strict=True))["token_secret"]
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(serialization.Encoding.PEM, spki).decode()
    admin.execute(f"ALTER USER kim SET RSA_PUBLIC_KEY = '{''.join(public.splitlines()[1:-1])}'")
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    for way, label, secret in (("Token", "Access token", token), ("Key pair", "Private key", pem)):
        with opened(browser, shop.url) as page:
            sent: list[str] = []
            page.on("request", lambda request, sent=sent: sent.append(request.post_data or ""))
            _log_in(page, way, "kim", label, secret)
            expect(page.get_by_role("heading", name="Home")).to_be_visible()
            expect(page.get_by_role("complementary").get_by_role("combobox", name="Role")).to_have_value("READER")
            # A key signs here and goes nowhere; and neither is kept where a script could find it.
            if way == "Key pair":
                assert not any("PRIVATE KEY" in body for body in sent)
            kept = page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            shown = page.content()
            secrets = [line for line in secret.splitlines() if len(line) > 20]
            assert secrets and not any(line in kept or line in shown for line in secrets)
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    foreign = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with opened(browser, shop.url) as page:
        for secret, said in ((foreign, "JWT token is invalid"), ("nonsense", "no private key in PEM form")):
            _log_in(page, "Key pair", "kim", "Private key", secret)
            expect(page.get_by_role("alert")).to_contain_text(said)
    admin.execute("DROP USER kim")


def test_two_servers_of_one_machine_keep_their_log_ins_apart(page: Page, shop: Serving, tmp_path: Path) -> None:
    """Browsers keep cookies by host, and not by port."""
    with open_account(tmp_path / "other") as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        with served(HttpServer(account, credentials, hosts=())) as other:
            page.goto(f"{other.url}/#link={other.server.console.visitors.links.issue()}")
            expect(page.get_by_role("heading", name="Home")).to_be_visible()
            expect(page.get_by_text("Refresh failed")).to_have_count(0)
            page.goto(shop.url)
            expect(page.get_by_text("Refresh failed")).to_be_visible()
            page.get_by_role("button", name="Log out").click()
            expect(page.get_by_role("heading", name="Log in to Snowmelt")).to_be_visible()
            page.goto(other.url)
            expect(page.get_by_role("heading", name="Home")).to_be_visible()
