//! [`Builder`]: makes a cluster.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::settings::Settings;
use std::fmt;
use std::time::Duration;

/// Makes a cluster. Settings that are not given here come from the environment.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `BOMBYX_CLUSTER` | the [`Address`](crate::Address) | `local` |
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
