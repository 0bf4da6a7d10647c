//! From a host name to the addresses that may be connected to.
//!
//! No HTTP and no cache: the system's resolver is asked for each new connection. Invariant: what comes out has passed
//! [`address`], so a name cannot be rebound between check and use.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::FetchError;
use crate::address;

/// The operator's table, the system's resolver behind it, and the guard behind both.
#[derive(Debug)]
pub(super) struct Names {
    table: HashMap<String, (IpAddr, Option<u16>)>,
    allow_private_networks: bool,
}

impl Names {
    /// `table` as in [`Settings::resolve`](super::Settings::resolve).
    pub(super) fn new(table: &HashMap<String, (IpAddr, Option<u16>)>, allow_private_networks: bool) -> Self {
        let table = table.iter().map(|(name, &to)| (plain(name), to));
        Self { table: table.collect(), allow_private_networks }
    }

    /// Whether an address named by an IP literal may be connected to.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        address::is_allowed(address, self.allow_private_networks)
    }

    /// Whether the table sends this name to a port of its own.
    pub(super) fn has_port(&self, name: &str) -> bool {
        matches!(self.table.get(&plain(name)), Some((_, Some(_))))
    }

    /// The allowed addresses of `name`, at least one. Port 0 stands for the port of the URL.
    ///
    /// # Errors
    /// [`FetchError::Dns`] without any address, [`FetchError::PrivateAddress`] where every address is refused.
    pub(super) async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, FetchError> {
        let found: Vec<SocketAddr> = match self.table.get(&plain(name)) {
            Some(&(address, port)) => vec![SocketAddr::new(address, port.unwrap_or(0))],
            None => tokio::net::lookup_host((name, 0)).await.map_err(|_| FetchError::Dns)?.collect(),
        };
        if found.is_empty() {
            return Err(FetchError::Dns);
        }
        let allowed: Vec<SocketAddr> = found.into_iter().filter(|found| self.allows(found.ip())).collect();
        if allowed.is_empty() {
            return Err(FetchError::PrivateAddress);
        }
        Ok(allowed)
    }
}

/// Names are compared without case and without the final dot of a fully qualified one.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_table_comes_first_and_is_guarded_too() {
        async fn check(name: &str, private: bool, expect: Result<&str, FetchError>) {
            let entry = |text: &str, port| (text.parse().expect("an address"), port);
            let table = HashMap::from([
                ("Public.test".to_owned(), entry("1.1.1.1", None)),
                ("port.test".to_owned(), entry("2606:4700::1", Some(8080))),
                ("private.test".to_owned(), entry("10.0.0.1", Some(8080))),
                ("metadata.test".to_owned(), entry("169.254.169.254", None)),
            ]);
            let names = Names::new(&table, private);
            let expect = expect.map(|text| vec![text.parse::<SocketAddr>().expect("an address")]);
            assert_eq!(names.resolve(name).await, expect, "{name}");
        }
        check("public.test", false, Ok("1.1.1.1:0")).await;
        check("PUBLIC.TEST.", false, Ok("1.1.1.1:0")).await;
        check("port.test", false, Ok("[2606:4700::1]:8080")).await;
        check("private.test", false, Err(FetchError::PrivateAddress)).await;
        check("private.test", true, Ok("10.0.0.1:8080")).await;
        check("metadata.test", true, Err(FetchError::PrivateAddress)).await;
    }

    #[tokio::test]
    async fn the_machine_itself_is_refused_by_name() {
        let names = Names::new(&HashMap::new(), false);
        assert_eq!(names.resolve("localhost").await, Err(FetchError::PrivateAddress));
    }
}
