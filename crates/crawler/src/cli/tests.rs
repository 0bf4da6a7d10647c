//! Which command lines there are, and what they come to.

use clap::CommandFactory;

use super::*;
use crate::exit::Exit;

fn parse(arguments: &str) -> Result<Cli, clap::Error> {
    let words = arguments.split_ascii_whitespace();
    Cli::try_parse_from(std::iter::once("crawld").chain(words))
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn run_takes_everything_at_once() {
    let cli = parse(
        "run --config c.toml --seeds a.txt --set x.y=1 --seeds b.txt --data d --set z=2 --exit-when-done http://a/ \
         http://b/",
    );
    let Ok(Cli { command: Command::Run(run) }) = cli else {
        panic!("{cli:?}");
    };
    assert_eq!(run.config.config, Some(PathBuf::from("c.toml")));
    assert_eq!(run.config.set, ["x.y=1", "z=2"]);
    assert_eq!(run.seeds, [PathBuf::from("a.txt"), PathBuf::from("b.txt")]);
    assert_eq!(run.data.dir, PathBuf::from("d"));
    assert!(run.exit_when_done);
    assert_eq!(run.urls, ["http://a/", "http://b/"]);
}

#[test]
fn what_is_a_command_line_and_what_is_not() {
    for good in [
        "run",
        "demo",
        "demo --set output.dir=d",
        "config show",
        "config check --config f --set a=b",
        "stats",
        "stats --data d --json",
        "seen --data d",
        "audit --data d --json --set filter.false_positive_rate=0.1",
        "filter rebuild --data d",
        "budget show",
        "budget show a.test --json",
        "budget raise a.test 10 --data d --set budget.max_urls_per_host=5",
        "budget lift a.test",
        "budget release a.test",
        "forget http://a.test/ http://b.test/ --dry-run",
        "forget --host a.test --older-than 30d --status 5xx",
        "forget --prefix http://a.test/x --status -4 --data d",
        "export",
        "export --gzip -o f --data d",
        "export --urls --state queued",
        "import",
        "import --data d --set filter.max_layers=2 f",
        "import --seen -",
        "import --queue f",
        "inspect url",
        "inspect links --base http://a.test/ page.html",
        "inspect robots --agent a --agent b robots.txt",
    ] {
        assert!(parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "walk",
        "config",
        "budget raise a.test",
        "budget lift",
        "inspect links page.html",
        "inspect robots robots.txt",
        "inspect links --base nowhere page.html",
        "forget",
        "forget --dry-run",
        "forget http://a.test/ --host a.test",
        "forget --host a.test --prefix http://a.test/",
        "export --state queued",
        "export --gz",
        "import --seen --queue f",
        "import a b",
        "run --seeds",
        "run --sets a=b",
    ] {
        let error = parse(bad).expect_err(bad);
        assert_eq!(error.exit_code(), i32::from(Exit::Usage.code()), "{bad}");
    }
}

#[test]
fn data_defaults_to_crawl_data() {
    let Ok(Cli { command: Command::Seen(data) }) = parse("seen") else {
        panic!("seen needs no option");
    };
    assert_eq!(data.dir, PathBuf::from("crawl-data"));
}

#[test]
fn help_lists_every_exit_code() {
    let help = Cli::command().render_long_help().to_string();
    let (_, codes) = help.split_once("Exit codes:\n").expect("a list of exit codes");
    let listed: Vec<&str> = codes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expect: Vec<String> = Exit::ALL.iter().map(|exit| exit.code().to_string()).collect();
    assert_eq!(listed, expect);
}
