//! `crawld`: the command line. Each command is a few lines that call the library and turn its error into an exit code.
//!
//! Not here: anything a test of the library could want. Invariant: the process ends with a code of
//! [`crawler::exit::Exit`], and says on standard error why when it is not success.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use crawler::cli::{
    Audit, BudgetCommand, Cli, Command, ConfigArgs, ConfigCommand, Data, Explain, Export, FilterCommand, Forget,
    Import, Inspect, Rekey, Run, Stats,
};
use crawler::config::{self, Config};
use crawler::daemon::{self, Plan};
use crawler::demo::{self, DemoError};
use crawler::exit::Exit;
use crawler::fetch::HttpFetch;
use crawler::robots::{self, Robots};
use crawler::{
    audit, budget, disk, explain, export, extract, forget, import, inspect, questions, rekey, seeds, signals, sitemap,
    statistics,
};
use frontier::Rules;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a command failed: the code to end with and what to say.
struct Failure(Exit, String);

impl Failure {
    fn new(exit: Exit, what: impl Display) -> Self {
        Self(exit, what.to_string())
    }
}

/// A reader that has gone away (`crawld … | head`) is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self(Exit::Success, String::new()),
            _ => Self::new(Exit::Failure, error),
        }
    }
}

fn main() -> Exit {
    let cli = Cli::parse();
    let tells = matches!(cli.command, Command::Run(_) | Command::Rekey(_));
    log_to_stderr(if tells { "info" } else { "warn" });
    let done = match cli.command {
        Command::Run(run) => crawl(run),
        Command::Demo(args) => show(&args),
        Command::Config(ConfigCommand::Show(args)) => config_of(&args).and_then(|config| print(config.to_toml())),
        Command::Config(ConfigCommand::Check(args)) => config_of(&args).and_then(|_| print("the config is valid\n")),
        Command::Stats(args) => stats(&args),
        Command::Seen(data) => {
            let mut out = BufWriter::new(io::stdout().lock());
            questions::seen_lines(&data.dir, io::stdin().lock(), &mut out)
                .map_err(question)
                .and_then(|()| Ok(out.flush()?))
        }
        Command::Explain(args) => explain(&args),
        Command::Forget(args) => unsee(&args),
        Command::Export(args) => write_out(&args),
        Command::Import(args) => take_in(&args),
        Command::Rekey(args) => make_anew(&args),
        Command::Inspect(what) => look(what),
        Command::Audit(args) => audit(&args),
        Command::Filter(FilterCommand::Rebuild(data)) => rebuild(&data),
        Command::Budget(command) => budget(command),
    };
    match done {
        Ok(()) => Exit::Success,
        Err(Failure(exit, what)) => {
            if !what.is_empty() {
                eprintln!("crawld: {what}");
            }
            exit
        }
    }
}

/// The daemon's own messages; `RUST_LOG` chooses others.
fn log_to_stderr(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false).init();
}

fn crawl(run: Run) -> Result<(), Failure> {
    let config = config_of(&run.config)?;
    let max_url_bytes = config.extract.max_url_bytes as usize;
    let seeds = seeds::read(&run.seeds, &run.urls, max_url_bytes).map_err(|e| Failure::new(Exit::Usage, e))?;
    let fetch = HttpFetch::new(&daemon::fetch_settings(&config)).map_err(|e| Failure::new(Exit::Failure, e))?;
    let runtime = runtime(config.crawl.worker_threads)?;
    let shutdown = signals::shutdown()?;
    let plan = Plan { config, dir: run.data.dir, seeds, exit_when_done: run.exit_when_done };
    // As a task, not on this thread: the dispatcher then wakes workers without crossing threads.
    let task = runtime.spawn(daemon::run(plan, fetch, disk::free_bytes, shutdown));
    let ended = runtime.block_on(task);
    // What hangs in a failed frontier must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    match ended {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Failure::new(error.exit(), error)),
        Err(panic) => Err(Failure::new(Exit::Failure, panic)),
    }
}

fn show(args: &ConfigArgs) -> Result<(), Failure> {
    let config = config_of(args)?;
    let runtime = runtime(0)?;
    let shutdown = signals::shutdown()?;
    let ended = runtime.block_on(demo::run(config, &mut io::stdout(), shutdown));
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended.map_err(|error| match error {
        DemoError::Io(error) => error.into(),
        DemoError::Daemon(error) => Failure::new(error.exit(), error),
        DemoError::Setup(error) => Failure::new(Exit::Failure, error),
    })
}

fn stats(args: &Stats) -> Result<(), Failure> {
    let snapshot = questions::stats(&args.data.dir).map_err(question)?;
    if args.json {
        let json = serde_json::to_string(&snapshot).expect("numbers and texts are JSON");
        return print(json + "\n");
    }
    print(statistics::report(&snapshot))
}

fn explain(args: &Explain) -> Result<(), Failure> {
    let config = config_of(&args.config)?;
    let asked = args.config.is_given().then_some(&config.canonical);
    let explained = questions::explain(&args.data.dir, &config, asked, &args.url).map_err(question)?;
    print(if args.json { explain::to_json(&explained) } else { explain::to_text(&explained) })
}

fn audit(args: &Audit) -> Result<(), Failure> {
    let config = config_of(&args.config)?;
    let asked = args.config.is_given().then_some(&config.canonical);
    let report = questions::audit(&args.data.dir, daemon::filter_options(&config), asked).map_err(question)?;
    print(if args.json { format!("{report}\n") } else { audit::to_text(&report) })?;
    match audit::has_failed(&report) {
        true => Err(Failure::new(Exit::Failure, "the audit has failed")),
        false => Ok(()),
    }
}

fn budget(command: BudgetCommand) -> Result<(), Failure> {
    let (action, args) = command.action();
    let reply = questions::budget(&args.data.dir, &config_of(&args.config)?, &action).map_err(question)?;
    print(if args.json { format!("{reply}\n") } else { budget::to_text(&reply) })
}

fn rebuild(data: &Data) -> Result<(), Failure> {
    match questions::rebuild_filters(&data.dir).map_err(question)? {
        true => print("the daemon rebuilds its filters; its log says when each is done\n"),
        false => Err(Failure::new(Exit::Failure, format!("no daemon is running on {}", data.dir.display()))),
    }
}

fn unsee(args: &Forget) -> Result<(), Failure> {
    let forgotten = forget::forget(&args.data.dir, &args.urls, &args.select, args.dry_run).map_err(question)?;
    print(forget::report(&forgotten, args.dry_run))
}

fn write_out(args: &Export) -> Result<(), Failure> {
    export::export(args).map_err(question)?.map_or(Ok(()), print)
}

fn take_in(args: &Import) -> Result<(), Failure> {
    let config = config_of(&args.config)?;
    print(import::import(args, &config).map_err(question)?)
}

fn make_anew(args: &Rekey) -> Result<(), Failure> {
    let config = config_of(&args.config)?;
    print(rekey::rekey(args, &config).map_err(question)?)
}

fn look(what: Inspect) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match what {
        Inspect::Url(config) => {
            let rules = Rules::new(config_of(&config)?.canonical);
            inspect::urls(&rules, io::stdin().lock(), &mut out)?;
        }
        Inspect::Links { base, content_type, config, file } => {
            let settings = config_of(&config)?.extract.settings();
            extract::inspect_links(&base, &content_type, settings, &file_of(&file)?, &mut out)?;
        }
        Inspect::Robots { agent, file } => {
            let rules = Robots::parse_for(&agent, &file_of(&file)?);
            robots::inspect(&rules, io::stdin().lock(), &mut out)?;
        }
        Inspect::Sitemap { url, file } => {
            sitemap::inspect_sitemap(&url, &file_of(&file)?, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn file_of(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", path.display())))
}

fn config_of(args: &ConfigArgs) -> Result<Config, Failure> {
    config::load(args.config.as_deref(), &args.set).map_err(|errors| Failure::new(Exit::Usage, errors))
}

fn runtime(threads: u32) -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    if threads > 0 {
        builder.worker_threads(threads as usize);
    }
    Ok(builder.enable_all().build()?)
}

fn question(error: questions::QuestionError) -> Failure {
    match error {
        questions::QuestionError::Io(error) => error.into(),
        error => Failure::new(error.exit(), error),
    }
}

fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    Ok(io::stdout().write_all(text.as_ref().as_bytes())?)
}
