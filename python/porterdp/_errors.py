# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, by kind. All are `porterdp.Error`; the text is that of the porter command."""


class Error(Exception):
    """`kind`: usage, io, network, protocol, privacy or numeric."""

    kind = "usage"


class UsageError(Error, ValueError):
    """An argument or a value of a config is wrong."""


class FileError(Error, OSError):
    """A file is missing, damaged, or cannot be written."""

    kind = "io"


class NetworkError(Error, ConnectionError):
    """A neighbour is out of reach."""

    kind = "network"


class ProtocolError(Error):
    """Bytes from outside are not what the format allows."""

    kind = "protocol"


class PrivacyError(Error):
    """A promise could not be kept, so nothing was released."""

    kind = "privacy"


class NumericError(Error, ArithmeticError):
    """A computation left the finite numbers."""

    kind = "numeric"


_KINDS = {c.kind: c for c in (FileError, NetworkError, ProtocolError, PrivacyError, NumericError)}


def error_of(kind, text):
    """Called by the compiled part."""
    return _KINDS.get(kind, UsageError)(text)
