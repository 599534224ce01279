#!/usr/bin/env python3
"""install.py install|uninstall BUILD PREFIX DESTDIR: what `make install` and `make uninstall` do.

Installs what is built and builds nothing: `make build` as a user and then `sudo make install` must
leave no file of root's in BUILD, or the user's next build fails. Only another PREFIX than BUILD was
made for makes a new configuration necessary, and that is done as the owner of BUILD.

Uninstalls the files that would be installed now, below PREFIX and DESTDIR, and nothing else.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

LOG = "meson-logs/install-log.txt"  # written by each installation, so root's after one by sudo


def introspect(build, what):
    done = subprocess.run(["meson", "introspect", build, what], check=True, capture_output=True)
    return json.loads(done.stdout)


def prefix_of(build):
    return next(o["value"] for o in introspect(build, "--buildoptions") if o["name"] == "prefix")


def as_owner(build, *command):
    owner = os.stat(build)
    if os.geteuid() == 0 and owner.st_uid != 0:
        drop = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
        command = [*drop, *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def install(build, prefix, destdir):
    if prefix_of(build) != prefix:
        print(f"{build} was made for {prefix_of(build)}: configuring it for {prefix}")
        as_owner(build, "meson", "configure", build, f"--prefix={prefix}")
        as_owner(build, "ninja", "-C", build)
    environment = {**os.environ, "DESTDIR": destdir}
    command = ["meson", "install", "-C", build, "--no-rebuild", "--strip"]
    try:
        subprocess.run(command, check=True, env=environment)
    finally:
        if os.stat(build).st_uid != os.geteuid():
            pathlib.Path(build, LOG).unlink(missing_ok=True)


def places(build, prefix, destdir):
    """Where each file is installed: the list of BUILD, carried over to PREFIX below DESTDIR."""
    made_for = prefix_of(build)
    for planned in introspect(build, "--installed").values():
        path = pathlib.PurePath(planned)
        if path.is_relative_to(made_for):
            path = pathlib.PurePath(prefix) / path.relative_to(made_for)
        yield pathlib.Path(destdir + str(path))


def uninstall(build, prefix, destdir):
    removed = 0
    for path in sorted(places(build, prefix, destdir)):
        if not path.is_symlink() and not path.exists():
            continue
        path.unlink()
        print(f"removed {path}")
        removed += 1
        for folder in path.parents:  # those of wattle alone; others stay, empty or not
            if "wattle" not in folder.relative_to(destdir + prefix).parts:
                break
            with contextlib.suppress(OSError):  # not empty yet
                folder.rmdir()
    if removed == 0:
        print(f"nothing of wattle is installed below {destdir + prefix}")


def main():
    action, build, prefix, destdir = sys.argv[1:]
    if not os.path.isabs(prefix):
        sys.exit(f"install: PREFIX must be an absolute path, not '{prefix}'")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        sys.exit(f"install: '{build}' is no build folder: run 'make build' first")
    try:
        {"install": install, "uninstall": uninstall}[action](
            build, os.path.normpath(prefix), os.path.abspath(destdir) if destdir else "")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"install: {error}")


main()
