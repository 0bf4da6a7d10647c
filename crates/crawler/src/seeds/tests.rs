//! Tests of the parent module: what a seeds file may hold, and the report on what it may not.

use std::fs;

use super::*;

const MAX_URL_BYTES: usize = 100;

/// Reads one file with this content, named `seeds.txt` in the report, and the arguments.
fn read_text(content: &[u8], arguments: &[&str]) -> Result<Vec<String>, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("seeds.txt");
    fs::write(&path, content).expect("a writable directory");
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let prefix = format!("{}/", dir.path().display());
    let show = |seed: Seed| format!("{} {}", seed.source, seed.url).replace(&prefix, "");
    match read(&[path], &arguments, MAX_URL_BYTES) {
        Ok(seeds) => Ok(seeds.into_iter().map(show).collect()),
        Err(errors) => Err(errors.to_string().replace(&prefix, "")),
    }
}

#[test]
fn files_then_arguments_with_their_places() {
    let content =
        b"\xef\xbb\xbfhttp://a.test/\r\n\n  # comment http://no.test/\n\thttps://B.test/x#f  \nhttp://a.test/";
    let seeds = read_text(content, &["http://c.test", " https://[::1]:8080/ "]);
    assert_eq!(
        seeds.expect("good seeds"),
        [
            "seeds.txt:1 http://a.test/",
            "seeds.txt:4 https://b.test/x#f",
            "seeds.txt:5 http://a.test/",
            "argument 1 http://c.test/",
            "argument 2 https://[::1]:8080/",
        ]
    );
}

#[test]
fn nothing_is_not_a_mistake() {
    for content in ["", "\n\n", "# only a comment", "\u{feff}"] {
        assert_eq!(read_text(content.as_bytes(), &[]), Ok(vec![]), "{content:?}");
    }
}

#[test]
fn every_bad_line_is_reported() {
    let content =
        b"http://good.test/\nexample.org/x\nexample.org:80/x\nftp://a.test/\nhttp://a b/\nhttp://\xff.test/\nhttp://\n";
    let report = read_text(content, &["mailto:me", ""]).expect_err("bad seeds");
    assert_eq!(
        report,
        "seeds.txt:2: no scheme, write https:// or http:// before it: \"example.org/x\"\n\
         seeds.txt:3: scheme is neither http nor https: \"example.org:80/x\"\n\
         seeds.txt:4: scheme is neither http nor https: \"ftp://a.test/\"\n\
         seeds.txt:5: invalid international domain name: \"http://a b/\"\n\
         seeds.txt:6: not UTF-8\n\
         seeds.txt:7: empty host: \"http://\"\n\
         argument 1: scheme is neither http nor https: \"mailto:me\"\n\
         argument 2: no scheme, write https:// or http:// before it: \"\""
    );
}

#[test]
fn long_lines_are_cut_and_the_next_one_is_read() {
    let url_of = |bytes: usize| format!("http://a.test/{}", "x".repeat(bytes - 14));
    let fits = url_of(MAX_URL_BYTES);
    let seeds = read_text(format!("#{}\n{fits}\r\n", "c".repeat(100_000)).as_bytes(), &[]);
    assert_eq!(seeds, Ok(vec![format!("seeds.txt:2 {fits}")]));

    // as bytes, after parsing (a space becomes %20), and with characters of two bytes at the cut
    let escaped = format!("http://a.test/x{}", " x".repeat(35));
    let accents = format!("http://a.test/x{}", "é".repeat(100_000));
    for long in [url_of(MAX_URL_BYTES + 1), url_of(100_000), escaped, accents] {
        let report = read_text(format!("{long}\nbad\n").as_bytes(), &[]).expect_err("too long");
        let (first, second) = report.split_once('\n').expect("two mistakes");
        assert!(first.starts_with("seeds.txt:1: longer than extract.max_url_bytes (100): "), "{first}");
        assert!(first.len() < 500, "{first}");
        assert!(second.starts_with("seeds.txt:2: no scheme"), "{second}");
    }
}

#[test]
fn the_report_is_bounded() {
    let report = read_text("bad\n".repeat(1000).as_bytes(), &[]).expect_err("bad seeds");
    assert_eq!(report.lines().count(), MAX_SHOWN + 1);
    assert!(report.ends_with("\nand 900 more"), "{report}");
}

#[test]
fn control_characters_are_not_printed() {
    let report = read_text(b"\x1b[2Jbad\n", &[]).expect_err("bad seeds");
    assert!(report.contains(r#""\u{1b}[2Jbad""#), "{report}");
}

#[test]
fn unreadable_files_are_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let files = [dir.path().join("missing.txt"), dir.path().to_owned()];
    let report = read(&files, &[], MAX_URL_BYTES).expect_err("no files");
    assert_eq!(report.mistakes.len(), 2);
    assert!(report.mistakes[0].contains("missing.txt: cannot be read: "), "{report}");
}
