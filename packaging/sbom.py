"""A bill of materials (CycloneDX 1.5, JSON) from the output of `cargo metadata`: the crates that the binary is built from.

Separate from build.py, which knows packages and nothing about crates.
"""

import datetime
import hashlib
import json
import uuid

ROOT_CRATE = "rawko"


class Bill:
    def __init__(self, metadata):
        data = json.loads(metadata)
        self.packages = {package["id"]: package for package in data["packages"]}
        self.nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
        members = (i for i in data["workspace_members"] if self.packages[i]["name"] == ROOT_CRATE)
        self.root = next(members)
        self.version = self.packages[self.root]["version"]

    def links(self, crate):
        """Returns the ids of the crates that this one is built with; dependencies of tests are not in the binary."""
        found = (d["pkg"] for d in self.nodes[crate]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"]))
        return sorted(set(found))

    def reached(self):
        seen, left = {self.root}, [self.root]
        while left:
            new = [crate for crate in self.links(left.pop()) if crate not in seen]
            seen.update(new)
            left.extend(new)
        return sorted(seen - {self.root}, key=self.reference)

    def reference(self, crate):
        package = self.packages[crate]
        return f"pkg:cargo/{package['name']}@{package['version']}"

    def component(self, crate):
        package = self.packages[crate]
        entry = {
            "type": "application" if crate == self.root else "library", "bom-ref": self.reference(crate),
            "name": package["name"], "version": package["version"], "purl": self.reference(crate),
        }
        if package.get("description"):
            entry["description"] = " ".join(package["description"].split())
        if package.get("license"):
            # Old manifests write a slash for OR.
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ").replace("  ", " ")}]
        if package.get("repository"):
            entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return entry

    def document(self, binary, epoch):
        """Returns the document; its serial number is derived from the binary, so that the same build has the same."""
        digest = hashlib.sha256(binary).hexdigest()
        root = self.component(self.root) | {"hashes": [{"alg": "SHA-256", "content": digest}]}
        crates = self.reached()
        moment = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
        document = {
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
            "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": root},
            "components": [self.component(crate) for crate in crates],
            "dependencies": [
                {"ref": self.reference(c), "dependsOn": sorted(map(self.reference, self.links(c)))}
                for c in [self.root, *crates]
            ],
        }
        return (json.dumps(document, indent=1) + "\n").encode()
