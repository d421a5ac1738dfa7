//! Where a chain begins, as seen from other chains. A scope needs this to know how late its closures end.
//!
//! A *chain* is what one carrier runs from the foot of a taken closure to its end. Within a chain, positions are
//! lengths from its foot. A closure spawned in a scope begins at a position of the spawner's chain, and the scope ends
//! at a position of its own chain. Any number of forks whose second halves were stolen may lie between the two. For a
//! chain that was stolen, the position where it begins is known only when its join has been reached. So positions are
//! linked: an [`Origin`] is the foot of a chain. As soon as it is known, the origin says at which position of which
//! other chain the foot lies.
//!
//! All joins and closures inside a scope end before the scope does. So when the scope asks, everything inside is known.

use super::algebra::Path;
use super::sites::SiteId;
use std::sync::{Arc, OnceLock};

/// See the module text.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    link: OnceLock<Link>,
}

#[derive(Debug)]
struct Link {
    /// The foot of the other chain.
    parent: Arc<Origin>,
    /// The path from there.
    path: Path,
    /// How many frames there are on that path.
    depth: usize,
    /// The site of the closure at this foot.
    site: SiteId,
}

impl Origin {
    /// The foot of a run, or of a chain whose link is not known yet.
    pub(crate) fn unknown() -> Arc<Origin> {
        Arc::default()
    }

    /// The foot of a chain that begins at `path` from the foot `parent`. Its closure was forked at `site`.
    pub(crate) fn at(parent: Arc<Origin>, path: Path, depth: usize, site: SiteId) -> Arc<Origin> {
        let origin = Origin::default();
        origin.link(parent, path, depth, site);
        Arc::new(origin)
    }

    /// The foot of a chain that begins at `path` from this foot. Its closure was forked at `site`. It is linked
    /// directly to this foot's parent if that is known.
    pub(crate) fn extended(self: &Arc<Origin>, path: Path, depth: usize, site: SiteId) -> Arc<Origin> {
        let Some(link) = self.link.get() else { return Origin::at(Arc::clone(self), path, depth, site) };
        let mut whole = link.path.clone();
        whole.append(&path, link.site);
        Origin::at(Arc::clone(&link.parent), whole, link.depth + depth, site)
    }

    /// Says where the foot lies.
    pub(crate) fn link(&self, parent: Arc<Origin>, path: Path, depth: usize, site: SiteId) {
        let known = self.link.set(Link { parent, path, depth, site });
        known.unwrap_or_else(|_| unreachable!("a chain is joined once"));
    }

    /// The path from `ancestor` to this foot and the number of frames on it, if `ancestor` is known to be one.
    pub(crate) fn path_from(self: &Arc<Origin>, ancestor: &Arc<Origin>) -> Option<(Path, usize)> {
        let mut steps = Vec::new();
        let mut here = self;
        while !Arc::ptr_eq(here, ancestor) {
            let link = here.link.get()?;
            steps.push(link);
            here = &link.parent;
        }
        let (mut path, mut depth) = (Path::default(), 0);
        // Each chain leaves the site of its own foot open, and the chain that it hangs on knows it. The site of the
        // ancestor's foot stays open.
        let mut foot = SiteId::TAKEN;
        for step in steps.into_iter().rev() {
            path.append(&step.path, foot);
            foot = step.site;
            depth += step.depth;
        }
        Some((path, depth))
    }
}

#[cfg(test)]
mod tests {
    use super::super::algebra::Length;
    use super::*;

    fn path(site: SiteId, ticks: i64) -> Path {
        Path { length: Length::strand(ticks), split: vec![(site, ticks)] }
    }

    #[test]
    fn paths_add_up_along_the_links_once_all_are_known() {
        let site = SiteId::from_index;
        let (run, stolen) = (Origin::unknown(), Origin::unknown());
        let spawned = Origin::at(Arc::clone(&stolen), path(SiteId::TAKEN, 3), 1, site(7));
        assert_eq!(spawned.path_from(&stolen), Some((path(SiteId::TAKEN, 3), 1)));
        assert_eq!(spawned.path_from(&run), None);
        stolen.link(Arc::clone(&run), path(SiteId::TAKEN, 4), 5, site(8));
        let whole = Path { length: Length::strand(7), split: vec![(SiteId::TAKEN, 4), (site(8), 3)] };
        assert_eq!(spawned.path_from(&run), Some((whole, 6)));
        assert_eq!(run.path_from(&run), Some((Path::default(), 0)));
        assert_eq!(run.path_from(&spawned), None);
    }
}
