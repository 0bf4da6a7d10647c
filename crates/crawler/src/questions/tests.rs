//! Questions to stopped directories: who is waited for, and what is said to whoever asks for what makes no sense.

use frontier::Options;

use super::*;

/// As by a daemon that has just been started and does not listen yet.
#[test]
fn a_directory_that_is_held_for_a_moment_is_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || Frontier::open(Options { partitions: 1, ..Options::new(dir.path()) }, 0, || {}).expect("opens");
    open().close().expect("closes");
    let held = open();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The question comes first, or waits: both end well.
            std::thread::sleep(PATIENCE / 20);
            held.close().expect("closes");
        });
        assert_eq!(stats(dir.path()).expect("is answered").discovered, 0);
    });
}

fn stopped() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = Frontier::open(Options { partitions: 1, ..Options::new(dir.path()) }, 0, || {}).expect("opens");
    frontier.close().expect("closes");
    dir
}

/// There is no daemon to refuse anything; and trying again cannot help.
#[test]
fn a_refusal_on_a_stopped_directory_names_no_daemon() {
    let dir = stopped();
    let error = budget(dir.path(), &Config::default(), &Action::Lift { host: "a b".to_owned() }).expect_err("no host");
    assert_eq!(error.to_string(), "refused: \"a b\" is not the name of a host (bad_host)");
    assert_eq!(error.exit(), Exit::Usage);
}

/// They were answered by the directory's rules without a word.
#[test]
fn other_canonical_rules_than_the_directory_s_are_told() {
    let dir = stopped();
    let mut config = Config::default();
    let names = |config: &Config| {
        let explained = explain(dir.path(), config, Some(&config.canonical), "http://www.a.test/").expect("a URL");
        let report = audit(dir.path(), FilterOptions::default(), Some(&config.canonical)).expect("an audit");
        let text = explain::to_text(&explained);
        assert_eq!(
            text.contains("\nWARNING: this config has other"),
            !explained.canonical_differs.is_empty(),
            "{text}"
        );
        assert_eq!(report["canonical_differs"], json!(explained.canonical_differs));
        explained.canonical_differs
    };
    assert_eq!(names(&config), [""; 0]);
    (config.canonical.fold_www, config.canonical.sort_query) = (true, true);
    assert_eq!(names(&config), ["fold_www", "sort_query"]);
    let explained = explain(dir.path(), &config, None, "http://www.a.test/").expect("a URL");
    assert_eq!(explained.canonical_differs, [""; 0], "nobody has asked for any rules");
    assert_eq!(explained.url.key, "test,a,www)http/", "the directory's hold");
}
