//! The command line of `crawld`, whole and in one place. The doc comments are the help text.
//!
//! Not here: what the commands do. Invariant: a URL, a seeds file or an option text is only stored here; the modules
//! that own their meaning check them.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::budget::Action;

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
  crawld explain https://example.org/a
      What is known of this URL, and why is it (not) crawled?
  crawld forget --host example.org --status 5xx
      Un-see what a host answered with errors, so that it can be found and crawled again.
  crawld export --gzip --output frontier.jsonl.gz
      Write all that the crawl knows; `crawld import --data NEW frontier.jsonl.gz` reads it.

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
    Demo(ConfigArgs),
    /// Show or check the config.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the present statistics of a crawl, running or stopped.
    Stats(Stats),
    /// Tell of each URL on standard input whether the crawl has seen it, one JSON line each: url, key, seen.
    Seen(Data),
    /// Tell all that is known of a URL and its host, and what would become of it; running or stopped.
    Explain(Explain),
    /// Un-see URLs, so that they can be found and crawled again; running or stopped.
    Forget(Forget),
    /// Write the whole frontier as JSON Lines, or its URLs one a line; running or stopped.
    Export(Export),
    /// Take in what export has written, or a list of URLs.
    Import(Import),
    /// Make a stopped crawl's directory anew under the canonical rules of the config; what it knows moves along.
    Rekey(Rekey),
    /// See what the crawler makes of URLs and pages.
    #[command(subcommand)]
    Inspect(Inspect),
    /// Put the seen-filter's promises to the test, on the live data; exit with 1 if one is broken.
    Audit(Audit),
    /// Look after the seen-filter.
    #[command(subcommand)]
    Filter(FilterCommand),
    /// Look after the budgets: what hosts have used, more for a host, parked URLs back into the queue.
    #[command(subcommand)]
    Budget(BudgetCommand),
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

impl ConfigArgs {
    /// Whether anything was said of the config.
    pub fn is_given(&self) -> bool {
        self.config.is_some() || !self.set.is_empty()
    }
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

/// `crawld explain`
#[derive(Debug, Args)]
pub struct Explain {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// Scope, traps, budgets and delays, where the crawl is stopped; a running daemon has its own.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// The URL, absolute. Nothing of it is recorded.
    #[arg(value_name = "URL")]
    pub url: String,
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

/// `crawld budget`
#[derive(Debug, Subcommand)]
pub enum BudgetCommand {
    /// Show what a host has used; without a name, all hosts with parked URLs, something granted, or slowed.
    Show {
        /// The host's name, without port.
        #[arg(value_name = "HOST")]
        host: Option<String>,
        /// Whom to ask.
        #[command(flatten)]
        args: BudgetArgs,
    },
    /// Grant a host so many URLs and pages beyond its budgets; if its name is a registrable domain, that too.
    Raise {
        /// The host's name, without port.
        #[arg(value_name = "HOST")]
        host: String,
        /// How many; 0 takes back what was granted.
        #[arg(value_name = "COUNT")]
        more: u32,
        /// Whom to ask.
        #[command(flatten)]
        args: BudgetArgs,
    },
    /// Lift the budgets of a host; if its name is a registrable domain, those of the domain too.
    Lift {
        /// The host's name, without port.
        #[arg(value_name = "HOST")]
        host: String,
        /// Whom to ask.
        #[command(flatten)]
        args: BudgetArgs,
    },
    /// Say that a host which the growth guard slows is well: it is left alone for good.
    Unslow {
        /// The host's name, without port.
        #[arg(value_name = "HOST")]
        host: String,
        /// Whom to ask.
        #[command(flatten)]
        args: BudgetArgs,
    },
    /// Put parked URLs of a host back into its queue, as far as its budgets have room.
    Release {
        /// The host's name, without port.
        #[arg(value_name = "HOST")]
        host: String,
        /// Whom to ask.
        #[command(flatten)]
        args: BudgetArgs,
    },
}

/// What all of `crawld budget` take.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// The budgets, where the crawl is stopped; a running daemon has its own.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

impl BudgetCommand {
    /// What is asked, and of whom.
    pub fn action(self) -> (Action, BudgetArgs) {
        match self {
            Self::Show { host, args } => (Action::Show { host }, args),
            Self::Raise { host, more, args } => (Action::Raise { host, more }, args),
            Self::Lift { host, args } => (Action::Lift { host }, args),
            Self::Unslow { host, args } => (Action::Unslow { host }, args),
            Self::Release { host, args } => (Action::Release { host }, args),
        }
    }
}

/// Which of the known URLs. All that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// URLs of this host, whatever their scheme and port; not those of its sub-domains.
    #[arg(long, value_name = "HOST", conflicts_with = "prefix")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// URLs that start with this URL.
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// URLs first seen longer ago than this: a number and s, m, h, d or w, as in 30d.
    #[arg(long, value_name = "AGE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// URLs whose last attempt came to this: 404, 5xx, 200-299, or a negative failure code as in crawl.log.
    #[arg(long, value_name = "STATUS", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// URLs in this state: queued, fetched, failed, robots_denied, excluded, imported_seen or parked.
    #[arg(long, value_name = "STATE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Names of the options of [`Select`].
const SELECT: [&str; 5] = ["host", "prefix", "older_than", "status", "state"];

/// `crawld forget`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(true).args(["urls"]).args(SELECT))]
pub struct Forget {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// Which URLs.
    #[command(flatten)]
    pub select: Select,
    /// Only say how many that would be.
    #[arg(long)]
    pub dry_run: bool,
    /// The URLs themselves.
    #[arg(value_name = "URL", conflicts_with_all = SELECT)]
    pub urls: Vec<String>,
}

/// `crawld export`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("choice").multiple(true).args(SELECT).requires("urls"))]
pub struct Export {
    /// Where the crawl is kept.
    #[command(flatten)]
    pub data: Data,
    /// Write URLs, one a line, instead of the whole frontier.
    #[arg(long)]
    pub urls: bool,
    /// Which URLs.
    #[command(flatten)]
    pub select: Select,
    /// Write to this file, which is there only when it is whole, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Compress with gzip.
    #[arg(long)]
    pub gzip: bool,
}

/// `crawld import`
#[derive(Debug, Args)]
pub struct Import {
    /// Where the crawl is kept; made when missing. A whole frontier goes into a stopped crawl only.
    #[command(flatten)]
    pub data: Data,
    /// What a directory that is made or stopped is opened with.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The file is a list of URLs that count as seen from now on, without being fetched; running or stopped.
    #[arg(long, conflicts_with = "queue")]
    pub seen: bool,
    /// The file is a list of URLs that are queued, whatever the scope says; running or stopped.
    #[arg(long)]
    pub queue: bool,
    /// What export has written, plain or compressed with gzip; "-" is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
}

/// `crawld rekey`
#[derive(Debug, Args)]
pub struct Rekey {
    /// Where the crawl is kept. The new directory is made beside it and takes its place in one step.
    #[command(flatten)]
    pub data: Data,
    /// The rules under which it is made anew.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Delete the old directory in the end, instead of keeping it as DIR.before-rekey (-2, -3, … where that is taken).
    #[arg(long)]
    pub delete_old: bool,
}

/// `crawld inspect`
#[derive(Debug, Subcommand)]
pub enum Inspect {
    /// Parse each URL on standard input, one JSON line each: input, url, key, host, registrable_domain, or error.
    Url(ConfigArgs),
    /// Print the links of a file, one JSON line each: url, tag, attr, rel. Of the kinds that extract.links says.
    Links {
        /// URL of the page, against which its links are resolved.
        #[arg(long, value_name = "URL")]
        base: Url,
        /// What a server would call the file: HTML, XML (XHTML, SVG, RSS, Atom) or CSS is read.
        #[arg(long, value_name = "TYPE", default_value = "text/html")]
        content_type: String,
        /// The keys of extract hold: kinds of links, limits.
        #[command(flatten)]
        config: ConfigArgs,
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Tell of each URL on standard input what a robots.txt says, one JSON line each: url, allowed, rule, line,
    /// crawl_delay (seconds), sitemaps; or url, error.
    Robots {
        /// Name by which the file knows the crawler, as in "crawld". May be repeated: all groups of these names count.
        #[arg(long, value_name = "NAME", required = true)]
        agent: Vec<String>,
        /// The robots.txt file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the entries of a sitemap, one JSON line each: url, kind, lastmod, changefreq, priority; then how it ended.
    Sitemap {
        /// URL of the sitemap, which decides for which URLs it may speak.
        #[arg(long, value_name = "URL")]
        url: Url,
        /// The sitemap: XML, text, RSS or Atom, gzipped or not.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[cfg(test)]
mod tests;
