"""Starts a Postgres server of the test's own, and what may stand in front of it."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

_DEBIAN = pathlib.Path("/usr/lib/postgresql/15/bin")  # not in the search path
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def _binary(name):
    beside = _DEBIAN / name
    found = str(beside) if beside.exists() else shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not found:
        raise RuntimeError(f"{name} is missing: scripts/packages.sh test installs it")
    return found


def _user():
    """Whom the servers run as: root may not run them."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class _Server:
    """A process that runs as an unprivileged user in a folder of its own and ends with the test."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="geonce-pg-"))
        self.port = free_port()
        self._user = _user()
        self._process = None
        self._own(self.folder)

    def _own(self, path):
        if self._user:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _become(self):
        if self._user:
            os.setgroups([])
            os.setgid(self._user.pw_gid)
            os.setuid(self._user.pw_uid)
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)

    def _spawn(self, *command):
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                [str(word) for word in command],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=self._become,  # noqa: PLW1509
                start_new_session=True,
            )

    def _end(self, how):
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def _wait_until(self, works, timeout_s=60):
        until = time.monotonic() + timeout_s
        while not works():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text(errors="replace"))
            time.sleep(0.02)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")


class Postgres(_Server):
    """`with Postgres() as server: geonce = Geonce(…, store=server.uri())`"""

    def __init__(self, settings=(), hba=None, files=(), copy_of=None):
        super().__init__()
        self.data = self.folder / "data"
        self.settings = tuple(settings)
        if copy_of is not None:
            copied = self._spawn(
                _binary("pg_basebackup"), "-D", self.data, "-R", "-c", "fast", "-h", copy_of.folder,
                "-p", copy_of.port, "-U", "postgres",
            )  # fmt: skip
            if copied.wait() != 0:
                raise RuntimeError(self.log())
            return
        made = self._spawn(
            _binary("initdb"), "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync", "--wal-segsize=1",
        )  # fmt: skip
        if made.wait() != 0:
            raise RuntimeError((self.folder / "log").read_text(errors="replace"))
        if hba is not None:
            (self.data / "pg_hba.conf").write_text(hba)
        for file in files:  # into its data folder, readable by it alone
            copy = self.data / file.name
            shutil.copy(file, copy)
            copy.chmod(0o600)
            self._own(copy)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        command = [_binary("postgres"), "-D", self.data, "-k", self.folder, "-p", self.port]
        for setting in ("listen_addresses=127.0.0.1", "fsync=off", *self.settings):
            command += ["-c", setting]
        self._process = self._spawn(*command)
        self._wait_until(lambda: self._psql("postgres", "SELECT 1").returncode == 0)

    def stop(self):
        """Connections are cut, and all is written first."""
        self._end(signal.SIGINT)

    def crash(self):
        """As `kill -9` of the whole server: it recovers from its log when it starts."""
        self._end(signal.SIGQUIT)

    def standby(self):
        """A copy that follows, and takes writes once it is promoted."""
        return Postgres(copy_of=self)

    def wait_for_the_standby(self):
        """From here on a commit is acknowledged once the standby has it. What a server was given at its start, no
        ALTER SYSTEM changes: `settings` must not say anything about this."""
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        self._wait_until(
            lambda: self.sql("SHOW synchronous_commit; SELECT sync_state FROM pg_stat_replication") == ["on", "sync"]
        )

    def promote(self):
        self.sql("ALTER SYSTEM RESET ALL; SELECT pg_promote(true, 60)")

    def uri(self, database="postgres", user="postgres", options=""):
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}{options}"

    def _psql(self, database, sql):
        return subprocess.run(
            [_binary("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-p", str(self.port),
             "-U", "postgres", "-d", database, "-f", "-"],
            input=sql, text=True, capture_output=True, check=False,
        )  # fmt: skip

    def sql(self, text, database="postgres"):
        """What it gives, a line a row, `|` between the columns."""
        done = self._psql(database, text)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.splitlines()


class PgBouncer(_Server):
    """In front of a server, in transaction mode: two statements may go to two connections."""

    def __init__(self, server, pool_size=3):
        super().__init__()
        users = self.folder / "users.txt"
        users.write_text('"postgres" ""\n')
        config = self.folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = any\nauth_file = {users}\npool_mode = transaction\n"
            f"default_pool_size = {pool_size}\nserver_reset_query_always = 0\n"
        )
        config.write_text(config.read_text().replace("* = host", "postgres = user=postgres host"))
        for file in (users, config):
            self._own(file)
        self._config = config

    def __enter__(self):
        self._process = self._spawn(_binary("pgbouncer"), self._config)
        self._wait_until(self._listens)
        return self

    def __exit__(self, *_):
        # It has no handler for SIGQUIT, which whoever is started in the background by a shell ignores.
        self._end(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def uri(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"
