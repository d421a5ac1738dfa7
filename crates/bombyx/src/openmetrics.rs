//! Figures of pools as OpenMetrics text, which Prometheus and others collect
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>), and a small server for them.
//!
//! | name | kind |
//! |---|---|
//! | `bombyx_processors`, `bombyx_busy`, `bombyx_resting` | gauge |
//! | `bombyx_queued`, `bombyx_oldest_wait_seconds`, `bombyx_ready`, `bombyx_detached` | gauge |
//! | `bombyx_carriers`, `bombyx_spares`, `bombyx_heap_bytes` | gauge |
//! | `bombyx_steals_total`, `bombyx_helps_total`, `bombyx_hand_overs_total` | counter |
//! | `bombyx_attempts_total`, `bombyx_sleeps_total`, `bombyx_wakes_total`, `bombyx_in_place_total` | counter |
//!
//! Each has a label `pool`. [`Metrics`] and [`Stats`](crate::Stats) say what they mean.
//!
//! **Not here:** the facade `metrics`, for programs that have an exporter already (the feature `metrics`).

use bombyx_core::Metrics;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How to read a figure.
type Read = fn(&Metrics) -> f64;

const GAUGES: &[(&str, &str, Read)] = &[
    ("processors", "Processors.", |m| m.processors as f64),
    ("busy", "Processors that run something.", |m| m.busy as f64),
    ("resting", "Processors that rest.", |m| m.resting as f64),
    ("queued", "What waits in the queue of the pool.", |m| m.queued as f64),
    ("oldest_wait_seconds", "How long the oldest of these has waited.", |m| {
        m.oldest_wait.map_or(0.0, |wait| wait.as_secs_f64())
    }),
    ("ready", "What waits in the deques of the processors.", |m| m.ready as f64),
    ("detached", "Closures without a scope that have not ended.", |m| m.detached as f64),
    ("carriers", "Carriers (OS threads).", |m| m.carriers as f64),
    ("spares", "Carriers without a processor and without anything to continue.", |m| m.spares as f64),
    ("heap_bytes", "Net bytes that the processors have allocated, in a metered program.", |m| {
        m.stats.heap as f64
    }),
];

const COUNTERS: &[(&str, &str, Read)] = &[
    ("steals", "Entries that processors took from others.", |m| m.stats.steals as f64),
    ("helps", "Steals of parts of what the thief waits for.", |m| m.stats.helps as f64),
    ("hand_overs", "Times a waiting carrier gave its processor away.", |m| m.stats.hand_overs as f64),
    ("attempts", "Times a processor asked another one for work.", |m| m.stats.attempts as f64),
    ("sleeps", "Times a processor found nothing and came to rest.", |m| m.stats.sleeps as f64),
    ("wakes", "Times a resting processor was woken.", |m| m.stats.wakes as f64),
    ("in_place", "Entries that ran on top of a waiting frame.", |m| m.stats.in_place as f64),
];

/// The units of gauges whose names end with one.
const UNITS: &[&str] = &["seconds", "bytes"];

/// The figures of pools, by the names that you give them.
///
/// If two have the same name, the later one gets a number, because the format allows no figure twice.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// let text = bombyx::openmetrics::text(&[("render".to_owned(), pool.metrics())]);
/// assert!(text.contains("bombyx_processors{pool=\"render\"} 2\n"));
/// assert!(text.ends_with("# EOF\n"));
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn text(pools: &[(String, Metrics)]) -> String {
    let mut known = HashSet::new();
    let labels: Vec<_> = pools
        .iter()
        .map(|(name, _)| {
            let mut label = escaped(name);
            let mut number = 1;
            while !known.insert(label.clone()) {
                number += 1;
                label = format!("{}-{number}", escaped(name));
            }
            label
        })
        .collect();
    let mut out = String::new();
    let mut family = |kind: &str, ending: &str, &(name, help, read): &(&str, &str, Read)| {
        let _ = writeln!(out, "# TYPE bombyx_{name} {kind}");
        if let Some(unit) = UNITS.iter().find(|unit| name.ends_with(*unit)) {
            let _ = writeln!(out, "# UNIT bombyx_{name} {unit}");
        }
        let _ = writeln!(out, "# HELP bombyx_{name} {help}");
        for ((_, metrics), label) in pools.iter().zip(&labels) {
            let _ = writeln!(out, "bombyx_{name}{ending}{{pool=\"{label}\"}} {}", read(metrics));
        }
    };
    GAUGES.iter().for_each(|figure| family("gauge", "", figure));
    COUNTERS.iter().for_each(|figure| family("counter", "_total", figure));
    out + "# EOF\n"
}

/// A name inside quotes.
fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// A server that answers with [`text`]. From [`serve`]. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The longest that a client may take for its request, and for each part of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest request that is read, in bytes.
const LONGEST: usize = 8192;

/// Serves the figures of pools at `http://ADDRESS/metrics`. This starts one thread, which calls `figures` for each
/// request. Clients are served one after the other.
///
/// Whoever can reach the address can read the figures, so choose one that only your collector reaches. A child of
/// fork(2) does not serve.
///
/// ```
/// use bombyx::{openmetrics, Pool};
/// let figures = || vec![("global".to_owned(), Pool::global().metrics())];
/// let server = openmetrics::serve("127.0.0.1:0", figures)?;
/// println!("http://{}/metrics", server.address());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the address cannot be used, or if no thread can be started.
pub fn serve(
    address: impl ToSocketAddrs,
    figures: impl Fn() -> Vec<(String, Metrics)> + Send + 'static,
) -> io::Result<Server> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serve = move || {
        while !stopped.load(SeqCst) {
            match listener.accept() {
                // A client that leaves early, or sends nothing, hurts nobody.
                Ok((client, _)) if !stopped.load(SeqCst) => drop(answer(client, &figures)),
                Ok(_) => {}
                // Too many files, for instance. Later there may be fewer.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    let thread = thread::Builder::new().name("bombyx-metrics".to_owned()).spawn(serve)?;
    Ok(Server { address, stop, thread: Some(thread) })
}

impl Server {
    /// The address, with the port that the system chose if you asked for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(match own {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        // The thread waits for a client. If none can come, it ends with the process.
        if TcpStream::connect_timeout(&own, PATIENCE).is_ok() {
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

/// Reads a request and answers it.
fn answer(mut client: TcpStream, figures: &impl Fn() -> Vec<(String, Metrics)>) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut client)?;
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics" | "/") => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, text(&figures()))
        }
        ("GET" | "HEAD", _) => ("404 Not Found", plain, "The figures are at /metrics.\n".to_owned()),
        _ => ("405 Method Not Allowed", plain, "Use GET.\n".to_owned()),
    };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if method != "HEAD" {
        client.write_all(body.as_bytes())?;
    }
    client.flush()
}

/// The first line of a request, after the whole head has come.
fn request(client: &mut TcpStream) -> io::Result<String> {
    let (mut bytes, until) = (Vec::new(), Instant::now() + PATIENCE);
    let mut part = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend(&part[..count]),
        }
    }
    let line = bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}
