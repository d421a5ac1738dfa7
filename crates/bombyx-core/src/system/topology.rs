//! Which CPUs are close to each other: those that share their last cache, and those of one node, which have the same
//! memory nearby. Linux tells in `/sys/devices/system`; elsewhere, and on small machines, all CPUs count as equally close.

use crate::system::affinity;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// With up to so many CPUs, nobody reads files: one cache serves them all, on nearly every machine.
const SMALL: usize = 4;

/// How far apart two CPUs are. A smaller distance is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// They share their last cache.
    Cache,
    /// They share a node, but not the cache.
    Node,
    Far,
}

static MACHINE: OnceLock<Option<Topology>> = OnceLock::new();

/// For each CPU, its last cache and its node. CPUs that no file mentions are in none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    caches: Vec<Option<u16>>,
    nodes: Vec<Option<u16>>,
}

impl Topology {
    /// The CPUs of this machine, unless all of them are equally close or nobody has [learned](Topology::learn) yet. A plain
    /// load.
    pub(crate) fn of_machine() -> Option<&'static Topology> {
        MACHINE.get()?.as_ref()
    }

    /// Reads the files, unless somebody has done so. For a thread that has nothing better to do.
    pub(crate) fn learn() {
        MACHINE.get_or_init(|| {
            let cpus = affinity::cpus();
            if cpus.len() <= SMALL { None } else { Topology::read(Path::new("/sys/devices/system"), cpus) }
        });
    }

    /// Reads what the files below `system` say about these CPUs. `None` if all of them share one cache, or if the files
    /// do not say.
    fn read(system: &Path, cpus: &[usize]) -> Option<Topology> {
        let mut topology = Topology::default();
        for &cpu in cpus {
            // The file of one CPU names all CPUs that share its cache.
            if topology.caches.get(cpu).copied().flatten().is_none() {
                if let Some(sharing) = last_cache(&system.join(format!("cpu/cpu{cpu}/cache"))) {
                    enter(&mut topology.caches, &sharing, cpu);
                }
            }
        }
        for node in list(&system.join("node/online")).unwrap_or_default() {
            if let Some(members) = list(&system.join(format!("node/node{node}/cpulist"))) {
                enter(&mut topology.nodes, &members, node);
            }
        }
        let first = *cpus.first()?;
        cpus.iter().any(|&cpu| topology.distance(first, cpu) != Distance::Cache).then_some(topology)
    }

    /// CPU i is in the groups at i.
    #[cfg(test)]
    pub(crate) fn from_groups(caches: &[u16], nodes: &[u16]) -> Topology {
        let groups = |groups: &[u16]| groups.iter().copied().map(Some).collect();
        Topology { caches: groups(caches), nodes: groups(nodes) }
    }

    pub(crate) fn distance(&self, a: usize, b: usize) -> Distance {
        let same = |groups: &[Option<u16>]| {
            let of = |cpu: usize| groups.get(cpu).copied().flatten();
            of(a).is_some() && of(a) == of(b)
        };
        if a == b || same(&self.caches) {
            Distance::Cache
        } else if same(&self.nodes) {
            Distance::Node
        } else {
            Distance::Far
        }
    }
}

/// The CPUs that share the cache of the highest level in this folder.
fn last_cache(folder: &Path) -> Option<Vec<usize>> {
    let level = |cache: &Path| fs::read_to_string(cache.join("level")).ok()?.trim().parse::<u32>().ok();
    let caches = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let (_, last) =
        caches.filter_map(|cache| Some((level(&cache)?, cache))).max_by_key(|(level, _)| *level)?;
    list(&last.join("shared_cpu_list"))
}

/// A file with a list such as `0-3,8`.
fn list(file: &Path) -> Option<Vec<usize>> {
    parse(&fs::read_to_string(file).ok()?)
}

fn parse(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        // No list of a machine is longer than this. A longer one would only take memory.
        if last > usize::from(u16::MAX) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Enters that these CPUs are in the group with this number.
fn enter(groups: &mut Vec<Option<u16>>, cpus: &[usize], group: usize) {
    for &cpu in cpus {
        if groups.len() <= cpu {
            groups.resize(cpu + 1, None);
        }
        groups[cpu] = u16::try_from(group).ok();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Distance, Topology, parse};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Files of a machine with these last caches and nodes.
    fn machine(name: &str, caches: &[&str], nodes: &[&str]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("bombyx-topology-{}-{name}", std::process::id()));
        let write = |file: PathBuf, text: &str| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        for sharing in caches {
            for cpu in parse(sharing).unwrap() {
                let cache = root.join(format!("cpu/cpu{cpu}/cache"));
                for (index, level, list) in [(0, 1, cpu.to_string()), (3, 3, sharing.to_string())] {
                    write(cache.join(format!("index{index}/level")), &format!("{level}\n"));
                    write(cache.join(format!("index{index}/shared_cpu_list")), &format!("{list}\n"));
                }
            }
        }
        if !nodes.is_empty() {
            write(root.join("node/online"), &format!("0-{}\n", nodes.len() - 1));
        }
        for (node, cpus) in nodes.iter().enumerate() {
            write(root.join(format!("node/node{node}/cpulist")), &format!("{cpus}\n"));
        }
        root
    }

    fn read(root: &Path, cpus: usize) -> Option<Topology> {
        let topology = Topology::read(root, &(0..cpus).collect::<Vec<_>>());
        fs::remove_dir_all(root).unwrap();
        topology
    }

    #[test]
    fn two_nodes_of_two_caches() {
        let root =
            machine("nodes", &["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"], &["0-3,8-11", "4-7,12-15"]);
        let topology = read(&root, 16).expect("the caches differ");
        assert_eq!(topology.distance(0, 0), Distance::Cache);
        assert_eq!(topology.distance(0, 9), Distance::Cache);
        assert_eq!(topology.distance(0, 10), Distance::Node);
        assert_eq!(topology.distance(0, 4), Distance::Far);
        assert_eq!(topology.distance(13, 5), Distance::Cache);
        assert_eq!(topology.distance(0, 99), Distance::Far);
    }

    #[test]
    fn one_cache_is_no_reason_to_choose() {
        assert_eq!(read(&machine("one", &["0-7"], &["0-7"]), 8), None);
    }

    #[test]
    fn without_files_of_caches_the_nodes_count() {
        let topology = read(&machine("only-nodes", &[], &["0-3", "4-7"]), 8).expect("the nodes differ");
        assert_eq!(topology.distance(0, 3), Distance::Node);
        assert_eq!(topology.distance(0, 4), Distance::Far);
    }

    #[test]
    fn lists() {
        assert_eq!(parse("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse("\n"), Some(vec![]));
        assert_eq!(parse("0-x"), None);
        assert_eq!(parse("0-4294967295"), None);
    }
}
