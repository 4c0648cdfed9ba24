from __future__ import annotations

import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpoeo_env.device.guard.folder import FOLDER_VARIABLE, LARGEST_FILE, Folder, check_gpu_uuid
from gpoeo_env.errors import ArtefactError, UsageError

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    opened = Folder.at(tmp_path / "guard")
    yield opened
    opened.close()


class TestFiles:
    def test_what_is_written_is_read_back_with_its_owner(self, folder: Folder) -> None:
        folder.write("a.journal", "text")
        stored = folder.read("a.journal")
        assert stored is not None
        assert (stored.text, stored.owner_uid, stored.is_trusted) == ("text", os.geteuid(), True)

    def test_a_missing_file_is_none(self, folder: Folder) -> None:
        assert folder.read("a.journal") is None

    def test_a_later_text_replaces_an_earlier_one_and_leaves_nothing_else(self, folder: Folder) -> None:
        folder.write("a.journal", "a long text")
        folder.write("a.journal", "short")
        assert [path.read_text() for path in folder.path.iterdir()] == ["short"]

    def test_all_users_can_read_it_and_only_its_owner_can_write_it_whatever_the_umask(self, folder: Folder) -> None:
        before = os.umask(0o077)
        try:
            folder.write("a.journal", "text")
        finally:
            os.umask(before)
        assert stat.S_IMODE((folder.path / "a.journal").stat().st_mode) == 0o644

    def test_a_text_that_cannot_be_written_leaves_the_earlier_one(self, folder: Folder) -> None:
        folder.write("a.journal", "earlier")
        (folder.path / "b.journal").mkdir()
        with pytest.raises(ArtefactError, match=r"b\.journal cannot be written"):
            folder.write("b.journal", "text")
        assert sorted(path.name for path in folder.path.iterdir()) == ["a.journal", "b.journal"]

    def test_removing_takes_what_a_killed_writer_left(self, folder: Folder) -> None:
        folder.write("a.journal", "text")
        (folder.path / ".a.journal.0123").write_text("half")
        folder.remove("a.journal")
        assert list(folder.path.iterdir()) == []

    def test_removing_twice_is_fine(self, folder: Folder) -> None:
        folder.write("a.journal", "text")
        folder.remove("a.journal")
        folder.remove("a.journal")

    def test_names_are_listed_without_suffix_and_without_what_is_half_written(self, folder: Folder) -> None:
        for name in ("b.journal", "a.journal", "a.lock", ".c.journal"):
            (folder.path / name).touch()
        assert folder.names(".journal") == ["a", "b"]


class TestAttacks:
    def test_a_symbolic_link_is_not_read(self, folder: Folder, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("secret")
        (folder.path / "a.journal").symlink_to(tmp_path / "target")
        with pytest.raises(ArtefactError, match="symbolic link"):
            folder.read("a.journal")

    def test_a_symbolic_link_is_replaced_and_its_target_left_alone(self, folder: Folder, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("precious")
        (folder.path / "a.journal").symlink_to(tmp_path / "target")
        folder.write("a.journal", "text")
        assert (tmp_path / "target").read_text() == "precious"
        assert not (folder.path / "a.journal").is_symlink()

    def test_a_file_with_a_second_name_is_not_read(self, folder: Folder, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("text")
        (folder.path / "a.journal").hardlink_to(tmp_path / "target")
        with pytest.raises(ArtefactError, match="hard link"):
            folder.read("a.journal")

    def test_a_pipe_is_not_waited_for(self, folder: Folder) -> None:
        os.mkfifo(folder.path / "a.journal")
        with pytest.raises(ArtefactError, match="no plain file"):
            folder.read("a.journal")

    @pytest.mark.parametrize("mode", [0o666, 0o664])
    def test_a_file_that_others_can_write_is_not_read(self, folder: Folder, mode: int) -> None:
        folder.write("a.journal", "text")
        (folder.path / "a.journal").chmod(mode)
        with pytest.raises(ArtefactError, match="written by others"):
            folder.read("a.journal")

    def test_a_huge_file_is_not_read(self, folder: Folder) -> None:
        folder.write("a.journal", "x" * (LARGEST_FILE + 1))
        with pytest.raises(ArtefactError, match="larger"):
            folder.read("a.journal")

    @as_root
    def test_a_file_of_another_user_is_read_and_not_trusted(self, folder: Folder) -> None:
        folder.write("a.journal", "text")
        os.chown(folder.path / "a.journal", NOBODY, NOBODY)
        stored = folder.read("a.journal")
        assert stored is not None
        assert not stored.is_trusted

    def test_a_lock_that_is_a_link_is_refused(self, folder: Folder, tmp_path: Path) -> None:
        (folder.path / "a.lock").symlink_to(tmp_path / "target")
        with pytest.raises(ArtefactError, match="symbolic link"):
            folder.open_for_lock("a.lock")
        assert not (tmp_path / "target").exists()

    @pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "a b", "a" * 101])
    def test_a_uuid_that_is_no_file_name_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match="no GPU UUID"):
            check_gpu_uuid(name)


class TestWhichFolder:
    def test_the_environment_names_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "named"))
        assert Folder.shared().path == tmp_path / "named"

    @as_root
    def test_root_makes_one_that_all_may_use_and_nobody_can_spoil(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
        assert stat.S_IMODE(Folder.shared(tmp_path / "run").path.stat().st_mode) == 0o1777

    def test_without_one_it_is_the_users_own_and_a_warning_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        with caplog.at_level(logging.WARNING):
            opened = Folder.shared(tmp_path / "no" / "such" / "folder")
        assert opened.path.is_relative_to(tmp_path / "state")
        assert "other users cannot see" in caplog.text
        assert f"install -d -m 1777 {tmp_path / 'no' / 'such' / 'folder'}" in caplog.text

    def test_a_link_to_a_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with pytest.raises(ArtefactError, match="cannot be opened"):
            Folder.at(tmp_path / "link")

    def test_a_folder_that_others_can_change_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        with pytest.raises(ArtefactError, match="can be changed by others"):
            Folder.at(tmp_path / "open")

    @as_root
    def test_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "theirs").mkdir()
        os.chown(tmp_path / "theirs", NOBODY, NOBODY)
        with pytest.raises(ArtefactError, match=f"belongs to user {NOBODY}"):
            Folder.at(tmp_path / "theirs")


@as_root
class TestTwoUsers:
    """Root and an ordinary user in one sticky folder."""

    @pytest.fixture
    def sticky(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as made:
            path = Path(made)
            path.chmod(0o1777)
            yield path

    @pytest.fixture
    def become(self) -> Iterator[Callable[[int], None]]:
        """Turn this process into another user; root again in the end."""
        yield os.seteuid
        os.seteuid(0)

    def test_a_user_cannot_replace_or_remove_what_root_wrote(self, sticky: Path, become: Callable[[int], None]) -> None:
        Folder.at(sticky).write("a.journal", "of root")
        become(NOBODY)
        folder = Folder.at(sticky)
        with pytest.raises(ArtefactError, match="cannot be written"):
            folder.write("a.journal", "mine")
        with pytest.raises(ArtefactError, match="cannot be removed"):
            folder.remove("a.journal")
        assert (sticky / "a.journal").read_text() == "of root"

    def test_a_user_reads_what_root_wrote_and_trusts_it(self, sticky: Path, become: Callable[[int], None]) -> None:
        Folder.at(sticky).write("a.journal", "of root")
        become(NOBODY)
        stored = Folder.at(sticky).read("a.journal")
        assert stored is not None
        assert stored.is_trusted

    def test_both_can_open_the_same_lock_whoever_made_it(self, sticky: Path, become: Callable[[int], None]) -> None:
        become(NOBODY)
        theirs = Folder.at(sticky).open_for_lock("a.lock")
        become(0)
        ours = Folder.at(sticky).open_for_lock("a.lock")
        assert os.path.sameopenfile(theirs, ours)
        os.close(theirs)
        os.close(ours)
