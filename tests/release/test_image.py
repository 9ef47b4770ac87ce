"""Images made by hand: what a runtime reads in them."""

import glob
import hashlib
import io
import json
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from release import image, binaries
from driver.console import Failed
from support import images

CONFIG = {"Entrypoint": ["/x"]}


class Image(unittest.TestCase):
    def setUp(self):
        self.archive = Path(self.enterContext(tempfile.TemporaryDirectory())) / "image.tar"

    def read(self) -> dict[str, bytes]:
        with tarfile.open(self.archive) as archive:
            return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}

    def test_its_configuration_names_its_architecture(self):
        for architecture in ("amd64", "arm64"):
            images.write(self.archive, "x:1", images.Layer({"x": b"program"}), CONFIG, "test", architecture)
            files = self.read()
            (manifest,) = json.loads(files["manifest.json"])
            configuration = json.loads(files[manifest["Config"]])
            self.assertEqual((architecture, "linux", CONFIG), (configuration["architecture"], configuration["os"], configuration["config"]))

    def test_one_name_for_all_leads_to_the_image_of_each(self):
        programs = {"amd64": b"of amd64", "arm64": b"of arm64"}
        images.write_of_all(self.archive, "registry.example:5000/x:1", {name: images.Layer({"x": content}) for name, content in programs.items()}, CONFIG, "test")
        files = self.read()

        def follow(descriptor: dict) -> bytes:
            content = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
            self.assertEqual(descriptor["digest"], f"sha256:{hashlib.sha256(content).hexdigest()}")
            self.assertEqual(descriptor["size"], len(content))
            return content

        self.assertEqual({"imageLayoutVersion": "1.0.0"}, json.loads(files["oci-layout"]))
        (top,) = json.loads(files["index.json"])["manifests"]
        self.assertEqual({"io.containerd.image.name": "registry.example:5000/x:1", "org.opencontainers.image.ref.name": "1"}, top["annotations"])
        found = {}
        for entry in json.loads(follow(top))["manifests"]:
            manifest = json.loads(follow(entry))
            configuration = json.loads(follow(manifest["config"]))
            self.assertEqual(entry["platform"], {"architecture": configuration["architecture"], "os": configuration["os"]})
            (layer,) = manifest["layers"]
            packed = follow(layer)
            self.assertEqual([layer["digest"]], configuration["rootfs"]["diff_ids"])
            with tarfile.open(fileobj=io.BytesIO(packed)) as inside:
                found[configuration["architecture"]] = inside.extractfile("x").read()
        self.assertEqual(programs, found)
        before = self.archive.read_bytes()
        images.write_of_all(self.archive, "registry.example:5000/x:1", {name: images.Layer({"x": content}) for name, content in programs.items()}, CONFIG, "test")
        self.assertEqual(before, self.archive.read_bytes())

    def test_a_dynamic_executable_has_its_libraries_in_the_image(self):
        static = self.archive.parent / "static"
        static.write_bytes(b"of no loader")
        layer = images.tidemark_layer({"tidemark": static, "tidemark-hadoop": Path("/bin/true")})
        self.assertEqual(b"of no loader", layer.files["tidemark"])
        self.assertEqual(Path("/bin/true").read_bytes(), layer.files["tidemark-hadoop"])
        loaded = [name for name in layer.files if name.rpartition("/")[2].startswith(("libc.so", "ld-linux"))]
        self.assertEqual(2, len(loaded), loaded)
        self.assertEqual(sorted(glob.glob(images.LIBPQ)), sorted(f"/{name}" for name in layer.files if name.endswith("libpq.so.5")))
        self.assertEqual({"tidemark"}, {name for name in images.tidemark_layer({"tidemark": static}).files if not name.startswith("usr/share/zoneinfo/")})

    def test_a_missing_release_is_reported_with_its_command(self):
        dist = self.archive.parent
        with mock.patch.object(binaries, "DIST", dist), self.assertRaisesRegex(Failed, "linux-arm64 is missing: ./dev release --arch arm64 makes it"):
            image.run([], "arm64")
        for program in images.PROGRAMS:
            (dist / binaries.file_name("amd64", program)).touch()
        with mock.patch.object(binaries, "DIST", dist), mock.patch.object(binaries, "check_static", lambda _: None), \
             mock.patch.object(binaries, "this_architecture", lambda: "amd64"), self.assertRaisesRegex(Failed, "linux-arm64 is missing: ./dev release --arch all makes it"):
            image.run([], "all")


if __name__ == "__main__":
    unittest.main()
