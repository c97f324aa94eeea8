"""The files by which a server shows who it is."""

import ssl
from typing import NamedTuple


class Tls(NamedTuple):
    """A certificate and its key, as files in PEM."""

    certificate: str
    key: str
    password: str | None = None

    def check(self) -> None:
        """Are they what they should be?

        Raises:
            OSError: they are not there, or do not belong together.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for file in (self.certificate, self.key):
            open(file).close()  # names the file if it is not there
        try:
            context.load_cert_chain(self.certificate, self.key, self.password or "")
        except ssl.SSLError as error:
            raise OSError(
                f"tls: {self.certificate} and {self.key} are no certificate and its key, in this "
                f"order: {error.reason or error}"
            ) from None
