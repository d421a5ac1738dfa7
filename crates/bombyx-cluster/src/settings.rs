//! [`Address`] and [`Settings`]: which engine to use, where, and how patient it is.

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
