//! [`Fetch`] over real HTTP: the one file that names the HTTP client.
//!
//! Not here: limits on the body ([`exchange`](super::exchange)), resolution ([`names`](super::names)). Invariants: the
//! client follows no redirect, keeps no cookie, sends no referrer, uses no proxy and repeats no request, so one call is
//! one line in the server's log; its every connection goes to a guarded address.

mod head;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HOST, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use reqwest::{Client, ClientBuilder, Response};
use tokio::time::{Instant, timeout, timeout_at};
use url::{Host, Url};

use super::brotli::Brotli;
use super::failure::{self, Stage};
use super::names::Names;
use super::{Body, Exchange, Fetch, FetchError, Limits, Request, Settings};

/// Idle connections are closed after this: longer than common delays between two requests to a host, and short enough
/// that a crawl of many hosts does not run out of file descriptors.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// The header section over HTTP/2, in bytes. The parser's own limit for HTTP/1 is about 400 KiB, but its default for
/// HTTP/2 is 16 KiB, which real sites exceed; browsers take 256 KiB.
const HTTP2_HEADER_BYTES: u32 = 256 * 1024;

/// Pages first, but say no to nothing.
const ACCEPTED: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// The client's three, and ours.
const ENCODINGS: &str = "gzip, br, zstd, deflate";

/// The settings do not make an HTTP client, for instance because of a `user_agent` that no header can carry.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct SetupError(String);

/// Fetches over HTTP/1.1 and HTTP/2, with TLS; gzip, brotli, zstd and deflate are asked for and undone.
#[derive(Clone, Debug)]
pub struct HttpFetch {
    client: Client,
    names: Arc<Names>,
    timeout: Duration,
    head_timeout: Duration,
    idle_timeout: Duration,
    max_body_bytes: u64,
    /// The `User-Agent` of requests that are to be kept as text.
    keeps_messages: Option<String>,
}

impl HttpFetch {
    /// Makes the client; installs ring as the process's TLS provider unless there is one.
    ///
    /// On a machine without any CA certificates `http` works all the same and every `https` request ends in
    /// [`FetchError::Tls`].
    ///
    /// # Errors
    /// [`SetupError`] for settings that no client can work with.
    pub fn new(settings: &Settings) -> Result<Self, SetupError> {
        // An error means that a provider is there already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let names = Arc::new(Names::new(&settings.resolve, settings.allow_private_networks));
        let builder = || client_builder(settings, Arc::clone(&names));
        let client = builder().build().or_else(|first| {
            let client = builder().tls_certs_only([]).build();
            if client.is_ok() {
                tracing::warn!(error = %failure::causes(&first), "no CA certificates, so every https request will fail");
            }
            client
        });
        Ok(Self {
            client: client.map_err(|error| SetupError(failure::causes(&error)))?,
            names,
            timeout: settings.timeout,
            head_timeout: settings.connect_timeout.saturating_add(settings.idle_timeout).min(settings.timeout),
            idle_timeout: settings.idle_timeout,
            max_body_bytes: settings.max_body_bytes,
            keeps_messages: settings.keep_messages.then(|| settings.user_agent.clone()),
        })
    }

    /// Checks what can be checked without the network, and makes the client's kind of request.
    fn prepare(&self, request: &Request<'_>) -> Result<reqwest::Request, FetchError> {
        let url = request.url;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::BadScheme);
        }
        // The client does not resolve literals, so its resolver is no guard against them.
        match url.host().ok_or(FetchError::BadUrl)? {
            Host::Ipv4(v4) if !self.names.allows(v4.into()) => Err(FetchError::PrivateAddress),
            Host::Ipv6(v6) if !self.names.allows(v6.into()) => Err(FetchError::PrivateAddress),
            Host::Domain(name) if url.port().is_some() && self.names.has_port(name) => {
                self.prepare_with_table_port(request, name)
            }
            Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => self.build(url.clone(), None, request),
        }
    }

    /// The client connects to the resolver's port only where the URL has none. So the URL goes without its port, and
    /// the server is told it in the `Host` header as ever.
    fn prepare_with_table_port(&self, request: &Request<'_>, name: &str) -> Result<reqwest::Request, FetchError> {
        let url = request.url;
        let host = url.port().map(|port| format!("{name}:{port}"));
        let mut portless = url.clone();
        portless.set_port(None).map_err(|()| FetchError::BadUrl)?;
        self.build(portless, host, request)
    }

    fn build(&self, url: Url, host: Option<String>, wanted: &Request<'_>) -> Result<reqwest::Request, FetchError> {
        let mut request = self.client.get(url);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        // A header that cannot be sent is none: the page is then fetched whole.
        for (name, value) in [(IF_NONE_MATCH, wanted.if_none_match), (IF_MODIFIED_SINCE, wanted.if_modified_since)] {
            if let Some(value) = value.and_then(|text| HeaderValue::from_str(text).ok()) {
                request = request.header(name, value);
            }
        }
        request.build().map_err(|error| classify(&error))
    }
}

impl Fetch for HttpFetch {
    type Body = HttpBody;

    async fn start(&self, request: &Request<'_>) -> Result<Exchange<HttpBody>, FetchError> {
        let started = Instant::now();
        let outgoing = self.prepare(request)?;
        let sent = self.keeps_messages.as_deref().map(|agent| head::sent(request.url, outgoing.headers(), agent));
        let response = timeout_at(started + self.head_timeout, self.client.execute(outgoing))
            .await
            .map_err(|_| FetchError::Timeout)?
            .map_err(|error| classify(&error))?;
        let limits = Limits {
            deadline: started + self.timeout,
            idle_timeout: self.idle_timeout,
            max_body_bytes: request.max_body_bytes.unwrap_or(self.max_body_bytes),
        };
        let coding = Coding::of(&response);
        let mut head = head::read(&response, matches!(coding, Coding::None));
        head.messages = sent.map(|request| Box::new(head::messages(request, &response)));
        Ok(Exchange::new(head, HttpBody { response, coding }, limits))
    }

    async fn address(&self, url: &Url) -> Option<IpAddr> {
        match url.host()? {
            Host::Ipv4(v4) => Some(v4.into()),
            Host::Ipv6(v6) => Some(v6.into()),
            Host::Domain(name) => {
                let found = timeout(self.head_timeout, self.names.resolve(name)).await.ok()?.ok()?;
                found.iter().map(SocketAddr::ip).min()
            }
        }
    }
}

/// The body of a real response.
pub struct HttpBody {
    response: Response,
    coding: Coding,
}

/// What is still to be undone. The client takes the header away from bodies that it decodes itself.
enum Coding {
    None,
    Brotli(Box<Brotli>),
    Unknown,
}

impl Coding {
    fn of(response: &Response) -> Self {
        let header = response.headers().get(CONTENT_ENCODING);
        match header.map(|value| value.as_bytes().to_ascii_lowercase()) {
            None => Self::None,
            Some(name) if matches!(name.as_slice(), b"" | b"identity") => Self::None,
            Some(name) if name == b"br" => Self::Brotli(Box::new(Brotli::new())),
            Some(_) => Self::Unknown,
        }
    }
}

impl Body for HttpBody {
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send + use<>>, FetchError> {
        loop {
            if let Coding::Brotli(brotli) = &mut self.coding {
                let decoded = brotli.step()?;
                if !decoded.is_empty() {
                    return Ok(Some(decoded.into()));
                }
            }
            let chunk = self.response.chunk().await;
            let chunk = chunk.map_err(|error| classify(&error))?;
            match (&mut self.coding, chunk) {
                (Coding::None, chunk) => return Ok(chunk),
                (Coding::Unknown, None) => return Ok(None),
                (Coding::Unknown, Some(_)) => return Err(FetchError::BadEncoding),
                (Coding::Brotli(brotli), None) if brotli.may_end() => return Ok(None),
                (Coding::Brotli(_), None) => return Err(FetchError::BadEncoding),
                (Coding::Brotli(brotli), Some(bytes)) => brotli.feed(&bytes),
            }
        }
    }
}

fn client_builder(settings: &Settings, names: Arc<Names>) -> ClientBuilder {
    Client::builder()
        .user_agent(&settings.user_agent)
        .default_headers(HeaderMap::from_iter(
            [(ACCEPT, ACCEPTED), (ACCEPT_ENCODING, ENCODINGS)]
                .map(|(name, text)| (name, HeaderValue::from_static(text))),
        ))
        .dns_resolver(GuardedNames(names))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .gzip(true)
        // Its decoder can be made to take a GiB: see the module of ours.
        .no_brotli()
        .zstd(true)
        .deflate(true)
        .connect_timeout(settings.connect_timeout)
        .pool_max_idle_per_host(settings.connections_per_host)
        .pool_idle_timeout(IDLE_CONNECTION)
        .tcp_nodelay(true)
        // As browsers do. There is no proxy in between that could read the same bytes another way.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http2_max_header_list_size(HTTP2_HEADER_BYTES)
}

/// [`Names`] in the shape that the client asks for.
struct GuardedNames(Arc<Names>);

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let names = Arc::clone(&self.0);
        Box::pin(async move {
            let addresses = names.resolve(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Names a failure and logs its causes; without the URL, which the caller knows and which may hold a password.
fn classify(error: &reqwest::Error) -> FetchError {
    if error.is_builder() {
        return FetchError::BadUrl;
    }
    let stage = if error.is_connect() {
        Stage::Connecting
    } else if error.is_decode() || error.is_body() {
        Stage::Body
    } else {
        Stage::Head
    };
    let named = failure::name(error, stage);
    tracing::debug!(failure = named.reason(), error = %failure::causes(error), "request failed");
    named
}
