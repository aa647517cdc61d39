//! Checks that a crate depends only on lower layers.

use std::collections::BTreeMap;

use super::metadata;

#[test]
fn crates_depend_only_on_lower_layers() {
    let metadata = metadata();
    let members: Vec<&str> =
        metadata["workspace_members"].as_array().unwrap().iter().filter_map(|id| id.as_str()).collect();
    let packages = metadata["packages"].as_array().unwrap();
    let layers: BTreeMap<&str, i64> = packages
        .iter()
        .filter(|package| members.contains(&package["id"].as_str().unwrap()))
        .map(|package| {
            let name = package["name"].as_str().unwrap();
            let layer = package["metadata"]["rawko"]["layer"].as_i64();
            (name, layer.unwrap_or_else(|| panic!("{name} has no [package.metadata.rawko] layer")))
        })
        .collect();
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|package| layers.contains_key(package["name"].as_str().unwrap())) {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            // Dev-dependencies are exempt.
            let is_dev = dependency["kind"].as_str() == Some("dev");
            let on = dependency["name"].as_str().unwrap();
            if !is_dev && layers.get(on).is_some_and(|layer| *layer >= layers[name]) {
                wrong.push(format!("{name} (layer {}) depends on {on} (layer {})", layers[name], layers[on]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
