//! [`add_node`]: one profile for a program that ran in several processes.

use crate::{Profile, SiteProfile};

/// Adds to `sum` what a worker process of the same program did.
///
/// Work, forks, strands, steals and other counts add up, and so do those of each site. The workers ran beside each
/// other, so the span grows only if the worker's span is the longest so far. It is the client's span plus the
/// longest of its workers', each with its calls one after another. `longest` is the longest so far. It begins with
/// `None`, and this updates it.
///
/// ```
/// let client = bombyx_profile::read(&include_bytes!("../corpus/sort.json")[..])?;
/// let (mut sum, mut longest) = (client.clone(), None);
/// bombyx_profile::add_node(&mut sum, &client, &mut longest);
/// bombyx_profile::add_node(&mut sum, &client, &mut longest);
/// assert_eq!(sum.work_ns, 3 * client.work_ns);
/// assert_eq!(sum.span_ns, 2 * client.span_ns);
/// assert_eq!(sum.processors, 3 * client.processors);
/// assert_eq!(sum.sites.len(), client.sites.len());
/// # Ok::<(), bombyx_profile::ReadError>(())
/// ```
pub fn add_node(sum: &mut Profile, node: &Profile, longest: &mut Option<Profile>) {
    let was = longest.as_ref().map_or((0, 0), |node| (node.span_ns, node.burdened_span_ns));
    let grows = node.span_ns > was.0;
    if grows {
        sum.span_ns = sum.span_ns - was.0 + node.span_ns;
        sum.burdened_span_ns = sum.burdened_span_ns - was.1 + node.burdened_span_ns;
    }
    sum.interrupted |= node.interrupted;
    sum.processors = sum.processors.saturating_add(node.processors);
    for (total, part) in [
        (&mut sum.runs, node.runs),
        (&mut sum.work_ns, node.work_ns),
        (&mut sum.blocked_ns, node.blocked_ns),
        (&mut sum.delayed_ns, node.delayed_ns),
        (&mut sum.forks, node.forks),
        (&mut sum.strands, node.strands),
        (&mut sum.steals, node.steals),
        (&mut sum.helps, node.helps),
        (&mut sum.hand_overs, node.hand_overs),
        (&mut sum.peak_carriers, node.peak_carriers),
    ] {
        *total = total.saturating_add(part);
    }
    sum.wall_ns = sum.wall_ns.max(node.wall_ns);
    sum.peak_frames = sum.peak_frames.max(node.peak_frames);
    sum.peak_heap_bytes = match (sum.peak_heap_bytes, node.peak_heap_bytes) {
        (Some(total), Some(part)) => Some(total.saturating_add(part)),
        (total, part) => total.or(part),
    };
    sum.per_processor.extend_from_slice(&node.per_processor);
    for site in &node.sites {
        let same = |other: &&mut SiteProfile| {
            (&other.file, other.line, other.column, &other.kind)
                == (&site.file, site.line, site.column, &site.kind)
        };
        match sum.sites.iter_mut().find(same) {
            Some(total) => {
                total.forks = total.forks.saturating_add(site.forks);
                total.work_ns = total.work_ns.saturating_add(site.work_ns);
                total.strands = total.strands.saturating_add(site.strands);
                total.longest_ns = total.longest_ns.max(site.longest_ns);
                total.blocked_ns = total.blocked_ns.saturating_add(site.blocked_ns);
                total.asleep_ns = total.asleep_ns.saturating_add(site.asleep_ns);
                total.waits = total.waits.saturating_add(site.waits);
                total.delayed_ns = total.delayed_ns.saturating_add(site.delayed_ns);
            }
            None => sum.sites.push(SiteProfile { span_ns: 0, ..site.clone() }),
        }
    }
    if grows {
        // Only the longest worker is on the span.
        for (of, sign) in longest.iter().map(|was| (was, false)).chain([(node, true)]) {
            for site in &of.sites {
                let own = sum
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
