//! The rules of the source tree that no compiler keeps: who may name what, how files open, what may lie where.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::root;

/// All `.rs` files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn all_sources() -> Vec<PathBuf> {
    ["crates", "tests"].iter().flat_map(|folder| sources(&root().join(folder))).collect()
}

/// Path from the root, with `/`.
fn name(path: &Path) -> String {
    path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether the code of a file, comments left out, has this word.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c| !is_part(c))).any(|part| part == word)
}

#[test]
fn each_seam_has_one_owner() {
    for (folder, word, owners) in [
        ("crates/frontier/src", "sled", &["crates/frontier/src/store.rs", "crates/frontier/src/store/"][..]),
        ("crates/crawler", "sled", &[]),
        ("crates/bloom", "sled", &[]),
        ("crates/crawler/src", "reqwest", &["crates/crawler/src/fetch/http.rs", "crates/crawler/src/fetch/http/"]),
        ("crates/frontier", "reqwest", &[]),
        ("crates/frontier", "tokio", &[]),
        ("crates/crawler/src", "scraper", &["crates/crawler/src/fields.rs", "crates/crawler/src/fields/"]),
        ("crates/crawler", "bloom", &[]),
    ] {
        let naming: Vec<String> = sources(&root().join(folder))
            .iter()
            .filter(|path| names(&read(path), word))
            .map(|path| name(path))
            .collect();
        let is_owner = |path: &String| {
            owners.iter().any(|owner| path == owner || (owner.ends_with('/') && path.starts_with(owner)))
        };
        let others: Vec<_> = naming.iter().filter(|path| !is_owner(path)).collect();
        assert!(others.is_empty(), "{word} is named in {others:?}");
        let owned = owners.is_empty() || naming.iter().any(|path| path == owners[0]);
        assert!(owned, "{word} is not named in {owners:?}: has it moved?");
    }
}

#[test]
fn the_crawler_does_not_depend_on_the_filter() {
    let manifest = read(&root().join("crates/crawler/Cargo.toml"));
    assert!(!manifest.lines().any(|line| line.starts_with("bloom") || line.starts_with("sled")), "{manifest}");
}

#[test]
fn every_file_says_first_what_it_is() {
    let files = all_sources();
    assert!(files.len() > 80, "{} files", files.len());
    let without: Vec<_> = files.iter().filter(|path| !read(path).starts_with("//! ")).map(|path| name(path)).collect();
    assert!(without.is_empty(), "no //! at the top: {without:?}");
}

#[test]
fn a_thing_lives_where_its_noun_lives() {
    let grab_bags = ["utils", "util", "common", "types", "helpers", "helper", "misc"];
    let found: Vec<_> = all_sources()
        .into_iter()
        .filter(|path| {
            let in_tree = path.strip_prefix(root()).expect("below the root");
            in_tree.with_extension("").iter().any(|part| grab_bags.iter().any(|bag| part == *bag))
        })
        .collect();
    assert!(found.is_empty(), "{found:?}");
    for path in all_sources() {
        let text = read(&path);
        let inline =
            grab_bags.iter().find(|bag| text.lines().any(|line| line.trim().ends_with(&format!("mod {bag} {{"))));
        assert!(inline.is_none(), "{}: mod {inline:?}", name(&path));
    }
}

#[test]
fn the_versions_that_keys_depend_on_are_those_of_the_lock_file() {
    let lock = read(&root().join("Cargo.lock"));
    let version = |package: &str| -> String {
        let at = format!("name = \"{package}\"\nversion = \"");
        let versions: Vec<&str> = lock.split(at.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(versions.len(), 1, "{package} is locked once");
        format!("{package} {}", versions[0])
    };
    assert_eq!(frontier::canonical::PUBLIC_SUFFIX_LIST, version("psl"));
    assert_eq!(frontier::canonical::IDNA, version("idna"));
}

#[test]
fn the_top_level_holds_what_was_agreed_and_nothing_else() {
    let agreed = ["Cargo.toml", "Cargo.lock", "crates", "config", "tests", "README.md"];
    let entries = fs::read_dir(root()).expect("the root").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    // What git does not keep is nobody's business: builds, and crawls made by hand.
    let ignored: Vec<String> =
        read(&root().join(".gitignore")).lines().map(|line| line.trim_matches('/').to_owned()).collect();
    names.retain(|name| !name.starts_with('.') && !ignored.contains(name));
    names.sort();
    let mut expected = agreed.map(str::to_owned);
    expected.sort();
    assert_eq!(names, expected);
}
