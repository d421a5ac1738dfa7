//! [`Builder`] and [`Address`]: which engine to use, where, and how patient it is.

use crate::cluster::Cluster;
use crate::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Where calls run.
///
/// | text | calls run |
/// |---|---|
/// | `local`, `local:4` | in this process; as many at a time as Bombyx has processors, or 4 |
/// | `processes:4`, `processes:4x2` | in 4 child processes, with 1 or 2 threads each |
/// | `dask-local:4`, `dask-local:4x2` | on a Dask cluster of 4 workers, started for you on this machine |
/// | `dask://host:8786`, `dask+tls://host:8786` | on the workers of the Dask scheduler there |
///
/// ```
/// use bombyx_cluster::Address;
/// assert_eq!("processes:4".parse::<Address>()?, Address::Processes { workers: 4, threads: 1 });
/// assert_eq!("processes:0".parse::<Address>().unwrap_err().to_string(),
///     "`processes:0` is not the address of a cluster: `0` must be a number of workers from 1 to 10000");
/// # Ok::<(), bombyx_cluster::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// In this process.
    Local {
        /// How many calls at a time.
        slots: Option<usize>,
    },
    /// In child processes.
    Processes {
        /// How many child processes.
        workers: usize,
        /// How many calls run at a time in each of them. Also the number of processors of its pool.
        threads: usize,
    },
    /// On a Dask cluster that belongs to this process.
    DaskLocal {
        /// How many workers.
        workers: usize,
        /// How many Dask threads each of them has. Also the number of processors of its pool.
        threads: usize,
    },
    /// On the workers of a Dask scheduler.
    Dask {
        /// Its address as Dask writes it, such as `tcp://host:8786`.
        scheduler: String,
    },
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address, Error> {
        let error = |reason: String| Error::Address { text: text.to_owned(), reason };
        let count = |number: &str, of: &str| match number.parse() {
            Ok(count @ 1..=10_000) => Ok(count),
            _ => Err(error(format!("`{number}` must be a number of {of} from 1 to 10000"))),
        };
        let both = |numbers: &str| match numbers.split_once('x') {
            Some((workers, threads)) => Ok((count(workers, "workers")?, count(threads, "threads")?)),
            None => Ok((count(numbers, "workers")?, 1)),
        };
        for (scheme, transport) in [("dask://", "tcp"), ("dask+tls://", "tls")] {
            if let Some(place) = text.strip_prefix(scheme) {
                return match place.rsplit_once(':') {
                    Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                        Ok(Address::Dask { scheduler: format!("{transport}://{place}") })
                    }
                    _ => Err(error("it needs a host and a port, as in `dask://host:8786`".to_owned())),
                };
            }
        }
        match text.split_once(':').map_or((text, None), |(name, numbers)| (name, Some(numbers))) {
            ("local", None) => Ok(Address::Local { slots: None }),
            ("local", Some(slots)) => Ok(Address::Local { slots: Some(count(slots, "calls")?) }),
            ("processes", Some(numbers)) => {
                both(numbers).map(|(workers, threads)| Address::Processes { workers, threads })
            }
            ("dask-local", Some(numbers)) => {
                both(numbers).map(|(workers, threads)| Address::DaskLocal { workers, threads })
            }
            ("processes" | "dask-local", None) => {
                Err(error(format!("say how many workers, as in `{text}:4`")))
            }
            _ => Err(error("use `local`, `processes:4`, `dask-local:4` or `dask://host:8786`".to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |threads: &usize| if *threads == 1 { String::new() } else { format!("x{threads}") };
        match self {
            Address::Local { slots: None } => write!(f, "local"),
            Address::Local { slots: Some(slots) } => write!(f, "local:{slots}"),
            Address::Processes { workers, threads } => write!(f, "processes:{workers}{}", times(threads)),
            Address::DaskLocal { workers, threads } => write!(f, "dask-local:{workers}{}", times(threads)),
            Address::Dask { scheduler } => match scheduler.strip_prefix("tls://") {
                Some(place) => write!(f, "dask+tls://{place}"),
                None => write!(f, "dask://{}", scheduler.trim_start_matches("tcp://")),
            },
        }
    }
}

/// The settings of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) allowed_failures: u32,
    pub(crate) patience: Duration,
}

/// Makes a cluster. Settings that are not given here come from the environment.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `BOMBYX_CLUSTER` | the [`Address`] | `local` |
/// | `BOMBYX_CLUSTER_ALLOWED_FAILURES` | how many workers may fail under a call before it is lost | 3 |
/// | `BOMBYX_CLUSTER_PATIENCE` | how many seconds a worker may be silent before it is given up | 30 |
/// | `BOMBYX_CLUSTER_MEMORY` | how much each worker of `dask-local` may use, as Dask writes it: `4GiB` | its share of the machine |
/// | `BOMBYX_PYTHON` | the Python that has `distributed` | `python3` |
#[derive(Clone, Debug, Default)]
pub struct Builder {
    address: Option<String>,
    allowed_failures: Option<u32>,
    patience: Option<Duration>,
}

impl Builder {
    /// Where calls run.
    pub fn address(mut self, address: impl fmt::Display) -> Builder {
        self.address = Some(address.to_string());
        self
    }

    /// How many workers may fail under a call before it is [lost](Error::Lost). For a Dask scheduler that already runs,
    /// this counts for children that crash. For workers that die, its own setting
    /// `distributed.scheduler.allowed-failures` counts.
    pub fn allowed_failures(mut self, count: u32) -> Builder {
        self.allowed_failures = Some(count);
        self
    }

    /// How long a worker may be silent before it is given up. For a Dask scheduler that already runs, its own setting
    /// `distributed.scheduler.worker-ttl` counts.
    pub fn patience(mut self, patience: Duration) -> Builder {
        self.patience = Some(patience);
        self
    }

    /// Starts the cluster, or connects to it.
    ///
    /// # Errors
    /// If the address or a variable makes no sense, or the cluster does not start.
    pub fn start(self) -> Result<Cluster, Error> {
        let address = match self.address {
            Some(address) => address,
            None => std::env::var("BOMBYX_CLUSTER").unwrap_or_else(|_| "local".to_owned()),
        };
        let settings = Settings {
            allowed_failures: match self.allowed_failures {
                Some(count) => count,
                None => number("BOMBYX_CLUSTER_ALLOWED_FAILURES", 3)?,
            },
            patience: match self.patience {
                Some(patience) => patience,
                None => Duration::from_secs(number("BOMBYX_CLUSTER_PATIENCE", 30)?.max(1).into()),
            },
        };
        Cluster::connect(&address.parse()?, &settings)
    }
}

/// A variable that is a number.
fn number(name: &str, default: u32) -> Result<u32, Error> {
    match std::env::var(name) {
        Err(_) => Ok(default),
        Ok(text) => {
            text.parse().map_err(|_| Error::Start(format!("{name} is `{text}`, but must be a number")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in [
            "local",
            "local:3",
            "processes:4",
            "processes:4x2",
            "dask-local:1",
            "dask://a:1",
            "dask+tls://b.c:8786",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, reason) in [
            ("", "use `local`"),
            ("cloud", "use `local`"),
            ("processes", "how many workers, as in `processes:4`"),
            ("processes:x", "number of workers"),
            ("processes:2x", "number of threads"),
            ("local:0", "number of calls"),
            ("dask://host", "a host and a port"),
            ("dask://:1", "a host and a port"),
            ("dask://host:99999", "a host and a port"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
