//! Uploaded charts are files of the project, so that users can read, commit and delete them.

use std::io;
use std::path::{Path, PathBuf};

use super::replacing::replace;
use crate::project::UPLOADED;

/// Writes a chart atomically to the folder that the next start reads. Returns its path below the project.
pub(super) fn write(root: &Path, chart: &str, version: &str, text: &str) -> io::Result<String> {
    let place = place(root, chart, version);
    let name = place.strip_prefix(root).unwrap_or(&place).display().to_string();
    let folder = root.join(UPLOADED);
    std::fs::create_dir_all(&folder)?;
    replace(&place, text)?;
    Ok(name)
}

/// Returns the file of a chart. Ids come from the author, so they are sanitised to stay inside the folder.
pub(super) fn place(root: &Path, chart: &str, version: &str) -> PathBuf {
    root.join(UPLOADED).join(format!("{}@{}.yaml", plain(chart), plain(version)))
}

/// Returns a file name for an id.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => plain.push(char::from(byte)),
            _ => plain.push_str(&format!("%{byte:02x}")),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_one_file_within_the_folder() {
        let name = |chart, version| place(Path::new(""), chart, version).display().to_string();
        assert_eq!(name("order", "1.2.0"), ".rawko/charts/uploaded/order@1.2.0.yaml");
        assert_eq!(name("../../x", "1/.."), ".rawko/charts/uploaded/..%2f..%2fx@1%2f...yaml");
        assert_eq!(name("a@1", "2"), ".rawko/charts/uploaded/a%401@2.yaml");
    }

    #[test]
    fn writing_again_replaces() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "order", "1", "one").unwrap();
        write(root.path(), "order", "1", "two").unwrap();
        let folder = root.path().join(UPLOADED);
        let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["order@1.yaml"]);
        assert_eq!(std::fs::read_to_string(folder.join("order@1.yaml")).unwrap(), "two");
    }
}
