//! The extractor against the DOM on real documentation, where it is installed (Debian's packages).

use super::oracle::{by_dom, by_pieces, links};
use super::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Pages of a tree that are compared: some seconds of a debug build.
const PAGES_PER_TREE: usize = 20;

/// The HTML files below a folder, in a fixed order.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        // Links to folders would lead in circles.
        if path.is_dir() && !path.is_symlink() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.push(path);
        }
    }
}

#[test]
fn documentation_is_read_as_its_dom_says() {
    let every_nth: Option<usize> = std::env::var("CRAWLD_DOCUMENTATION_STEP").ok().and_then(|text| text.parse().ok());
    for tree in ["postgresql-doc-15/html", "python3.11/html", "openjdk-17-doc/api", "rust-doc/html"] {
        let mut found = Vec::new();
        pages(&Path::new("/usr/share/doc").join(tree), &mut found);
        let step = every_nth.unwrap_or(found.len() / PAGES_PER_TREE).max(1);
        let (mut compared, mut links_found) = (0, 0);
        for path in found.iter().step_by(step) {
            let body = fs::read(path).expect("a page");
            let document = Url::from_file_path(path).expect("absolute");
            for all in [false, true] {
                let page = by_pieces(&document, &body, all, 16 << 10);
                let want = by_dom(&document, &body, page.encoding, all);
                assert_eq!((links(&page), page.title), (want.links, want.title), "{}", path.display());
                links_found += page.links_found;
            }
            compared += 1;
        }
        println!(
            "{tree}: {compared} of {} pages compared, {links_found} links (CRAWLD_DOCUMENTATION_STEP=1 for all)",
            found.len()
        );
        assert!(found.is_empty() || links_found > 0, "{tree}: no links");
    }
}
