//! The command line of `crawld`, whole and in one place. The doc comments are the help text.
//!
//! Not here: what the commands do. Invariant: a URL, a seeds file or an option text is only stored here; the modules
//! that own their meaning check them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use url::Url;

const EXAMPLES: &str = "\
Examples:
  crawld demo
      Serve a small site on loopback, crawl it, print the statistics.
  crawld run --exit-when-done https://example.org/
      Crawl one site politely; stop when there is nothing left to do.
  crawld run --config config/crawler.toml --seeds config/seeds.txt
      Run as a daemon. SIGTERM or SIGINT stops it; the same command continues where it stopped.
  crawld run --set scope.mode=domain --set politeness.delay_ms=2000 https://example.org/
      Change single keys of the config.
  crawld stats --data crawl-data
      How far is it?

Exit codes:
  0    done, or stopped by a signal with everything committed
  1    failed at run time; trying again may help
  2    wrong command line, config or seeds; trying again without a change cannot help
  3    the data directory is in use by another process
  4    disk, journal or store failed; what was committed is kept; look at the disk first
  130  ended by a second signal before the shutdown was finished; what was committed is kept";

/// A web-crawler daemon: every page once, politely, and nothing lost.
///
/// It fetches pages, finds their links, and remembers every URL it has seen in a journaled frontier with a scalable
/// Bloom filter in front of an exact store.
#[derive(Debug, Parser)]
#[command(name = "crawld", version, max_term_width = 100, after_long_help = EXAMPLES, after_help = "Exit codes and examples: crawld --help")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Crawl: start from the seeds, or continue where the data directory stopped.
    Run(Run),
    /// Crawl a small site that this program serves on loopback, and print the statistics.
    Demo,
    /// Show or check the config.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the present statistics of a crawl, running or stopped.
    Stats(Stats),
    /// Tell of each URL on standard input whether the crawl has seen it, one JSON line each: url, key, seen.
    Seen(Data),
    /// See what the crawler makes of URLs and pages.
    #[command(subcommand)]
    Inspect(Inspect),
    /// Put the seen-filter's promises to the test, on the live data; exit with 1 if one is broken.
    Audit(Audit),
    /// Look after the seen-filter.
    #[command(subcommand)]
    Filter(FilterCommand),
}

/// `crawld run`
#[derive(Debug, Args)]
pub struct Run {
    /// Where the config comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// File of URLs to start from, one a line; blank lines and # comments are allowed. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub seeds: Vec<PathBuf>,
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// End when nothing is in flight and nothing is due within crawl.idle_exit_secs. (Else wait for more to do.)
    #[arg(long)]
    pub exit_when_done: bool,
    /// URLs to start from, beside those of the seeds files.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
}

/// The options that make the config.
#[derive(Debug, Default, Args)]
pub struct ConfigArgs {
    /// Config file (TOML). Without it the built-in defaults hold; no file is read unasked.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one key of the config over file and defaults, as in politeness.delay_ms=0. The value is TOML; a bare word is
    /// taken as a string. May be repeated, the last one wins.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The data directory.
#[derive(Debug, Args)]
pub struct Data {
    /// Data directory: journal, store, filter, logs and control socket of one crawl.
    #[arg(long = "data", value_name = "DIR", default_value = "crawl-data")]
    pub dir: PathBuf,
}

/// `crawld config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective config as TOML.
    Show(ConfigArgs),
    /// Say what is wrong with the config, all of it at once; exit with 0 if nothing is.
    Check(ConfigArgs),
}

/// `crawld stats`
#[derive(Debug, Args)]
pub struct Stats {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// `crawld audit`
#[derive(Debug, Args)]
pub struct Audit {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// What a stopped crawl is judged by.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    pub json: bool,
}

/// `crawld filter`
#[derive(Debug, Subcommand)]
pub enum FilterCommand {
    /// Have the running daemon rebuild every filter from the exact set, in the background.
    Rebuild(Data),
}

/// `crawld inspect`
#[derive(Debug, Subcommand)]
pub enum Inspect {
    /// Parse each URL on standard input, one JSON line each: input, url, key, host, registrable_domain, or error.
    Url,
    /// Print the links of an HTML file, one JSON line each: url, tag, attr, rel.
    Links {
        /// URL of the page, against which its links are resolved.
        #[arg(long, value_name = "URL")]
        base: Url,
        /// The HTML file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[cfg(test)]
mod tests {
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
            "config show",
            "config check --config f --set a=b",
            "stats",
            "stats --data d --json",
            "seen --data d",
            "audit --data d --json --set filter.false_positive_rate=0.1",
            "filter rebuild --data d",
            "inspect url",
            "inspect links --base http://a.test/ page.html",
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "walk",
            "config",
            "inspect links page.html",
            "inspect links --base nowhere page.html",
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
}
