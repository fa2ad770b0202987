"""What a client says of itself when it logs in."""

from __future__ import annotations

from dataclasses import dataclass, field

from snowmelt.runtime.rights.authentication import Authenticator, LoginIdentity, is_token


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """Secrets are left out where it is printed."""

    user: str
    authenticator: str = "SNOWFLAKE"
    """SNOWFLAKE: a password. SNOWFLAKE_JWT: a token signed with the user's key. PROGRAMMATIC_ACCESS_TOKEN, OAUTH."""
    password: str | None = field(default=None, repr=False)
    new_password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    role: str | None = None
    """The role that the client asks for, folded as an identifier."""
    client: str = ""
    address: str = ""
    """Where the client connects from."""

    @property
    def is_quick(self) -> bool:
        """Whether no password has to be compared, which takes long on purpose."""
        return self.authenticator == "SNOWFLAKE_JWT" or is_token(self.password, self.token)

    def checked_by(self, authenticator: Authenticator) -> LoginIdentity:
        """Who it is. Raises when the secret is not theirs, never saying which part was wrong."""
        by_key = self.authenticator == "SNOWFLAKE_JWT"
        return authenticator.login(
            self.user,
            password=self.password,
            new_password=self.new_password,
            token=None if by_key else self.token,
            jwt=self.token if by_key else None,
            role=self.role,
            client=self.address,
        )
