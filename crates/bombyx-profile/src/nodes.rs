//! [`Profile::add_node`]: one profile for a program that ran in several processes.

use crate::{Profile, Site};

impl Profile {
    /// Adds what a worker process of the same program did.
    ///
    /// Work, forks, strands, steals and other counts add up, and so do those of each site. The workers ran beside each
    /// other, so the span grows only if the worker's span is the longest so far. It is the client's span plus the
    /// longest of its workers', each with its calls one after another. `longest` is the longest so far. It begins with
    /// `None`, and this updates it.
    ///
    /// ```
    /// let client = bombyx_profile::read(&include_bytes!("../corpus/sort.json")[..])?;
    /// let (mut sum, mut longest) = (client.clone(), None);
    /// sum.add_node(&client, &mut longest);
    /// sum.add_node(&client, &mut longest);
    /// assert_eq!(sum.work_ns, 3 * client.work_ns);
    /// assert_eq!(sum.span_ns, 2 * client.span_ns);
    /// assert_eq!(sum.processors, 3 * client.processors);
    /// assert_eq!(sum.sites.len(), client.sites.len());
    /// # Ok::<(), bombyx_profile::ReadError>(())
    /// ```
    pub fn add_node(&mut self, node: &Profile, longest: &mut Option<Profile>) {
        let was = longest.as_ref().map_or((0, 0), |node| (node.span_ns, node.burdened_span_ns));
        let grows = node.span_ns > was.0;
        if grows {
            self.span_ns = self.span_ns - was.0 + node.span_ns;
            self.burdened_span_ns = self.burdened_span_ns - was.1 + node.burdened_span_ns;
        }
        self.interrupted |= node.interrupted;
        self.processors = self.processors.saturating_add(node.processors);
        for (sum, part) in [
            (&mut self.runs, node.runs),
            (&mut self.work_ns, node.work_ns),
            (&mut self.blocked_ns, node.blocked_ns),
            (&mut self.forks, node.forks),
            (&mut self.strands, node.strands),
            (&mut self.steals, node.steals),
            (&mut self.helps, node.helps),
            (&mut self.hand_overs, node.hand_overs),
            (&mut self.peak_carriers, node.peak_carriers),
        ] {
            *sum = sum.saturating_add(part);
        }
        self.wall_ns = self.wall_ns.max(node.wall_ns);
        self.peak_frames = self.peak_frames.max(node.peak_frames);
        self.peak_heap_bytes = match (self.peak_heap_bytes, node.peak_heap_bytes) {
            (Some(sum), Some(part)) => Some(sum.saturating_add(part)),
            (sum, part) => sum.or(part),
        };
        self.per_processor.extend_from_slice(&node.per_processor);
        for site in &node.sites {
            let same = |other: &&mut Site| {
                (&other.file, other.line, other.column, &other.kind)
                    == (&site.file, site.line, site.column, &site.kind)
            };
            match self.sites.iter_mut().find(same) {
                Some(sum) => {
                    sum.forks = sum.forks.saturating_add(site.forks);
                    sum.work_ns = sum.work_ns.saturating_add(site.work_ns);
                    sum.strands = sum.strands.saturating_add(site.strands);
                }
                None => self.sites.push(Site { span_ns: 0, ..site.clone() }),
            }
        }
        if grows {
            // Only the longest worker is on the span.
            for (of, sign) in longest.iter().map(|was| (was, false)).chain([(node, true)]) {
                for site in &of.sites {
                    let own = self
                        .sites
                        .iter_mut()
                        .find(|other| other.location() == site.location() && other.kind == site.kind);
                    let own = own.expect("all sites of workers are there");
                    own.span_ns = if sign { own.span_ns + site.span_ns } else { own.span_ns - site.span_ns };
                }
            }
            *longest = Some(node.clone());
        }
    }
}
