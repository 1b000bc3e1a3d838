"""Errors that the machine is the cause of, and nothing in the program: what they say is all there is to say."""

import errno
import re

#: No room, no rights, no descriptors, a file system that only reads, a disk that fails.
_NUMBERS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE,
    errno.EIO, errno.ENOMEM, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE,
})  # fmt: skip
#: RocksDB has no kinds of errors, only texts; some come as errors of the system without a number.
_STORAGE = re.compile(r"(?:IO error|No space left|Corruption)\b|.*\(os error \d+\)\Z", re.DOTALL)


def of_the_machine(error: BaseException) -> bool:
    """Return whether an error is the machine's.

    >>> of_the_machine(OSError(errno.ENOSPC, "No space left on device"))
    True
    >>> of_the_machine(Exception("IO error: while open a file for lock: /data/LOCK: Too many open files"))
    True
    >>> of_the_machine(TimeoutError()), of_the_machine(ValueError("IO error"))
    (False, False)
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _NUMBERS
    return type(error) in (Exception, OSError) and _STORAGE.match(str(error)) is not None


def told(error: BaseException) -> str:
    """Return what an error of the machine says: which file, where it names one, and what is wrong.

    >>> told(OSError(errno.ENOSPC, "No space left on device", "data/policy"))
    'data/policy: No space left on device'
    >>> told(OSError(errno.ENOSPC, "No space left on device"))
    'writing output: No space left on device'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing output'}: {error.strerror}"
    return f"{error}"
