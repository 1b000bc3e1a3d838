"""Ports that are a process's own until it ends."""

import asyncio
import socket

import pytest

from deploy.ports import HOST, free, free_port


def test_a_port_is_nobody_else_s_and_a_server_of_ours_can_have_it() -> None:
    first = free_port(in_a_row=3)
    for port in range(first, first + 3):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((HOST, port))
        assert free(port)
        with socket.create_server((HOST, port)):
            assert not free(port)
        assert free(port)
    given = [free_port(in_a_row=2) for _ in range(50)]
    assert len({*given, *(port + 1 for port in given)}) == 100, "none is given twice"


def test_a_port_is_one_that_no_connection_is_given() -> None:
    async def a_connection_s() -> int:
        async with await asyncio.start_server(lambda _, writer: writer.close(), HOST, 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            await reader.read()
            writer.close()
            return int(writer.get_extra_info("sockname")[1])

    assert free_port() < asyncio.run(a_connection_s())
