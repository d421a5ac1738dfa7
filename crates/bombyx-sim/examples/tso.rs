//! scratch
use bombyx_sim::tso::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut c = Config::new(a[1].parse().unwrap(), a[2].parse().unwrap()).with_capacity(a[3].parse().unwrap());
    if let Some(m) = a.get(4) { if m != "-" {c.mutation = Some(m.parse().unwrap());} }
    if let Some(m) = a.get(5) { c.liveness = m.contains('l'); c.merge_stores = !m.contains('u'); }
    let t = std::time::Instant::now();
    let o = explore(&c, |p| if let Progress::Exploring{states,..}=p { if states % 7 == 0 {eprintln!("{p:?}")} } else {eprintln!("{p:?}")}).unwrap();
    println!("{:?} {:?}", o.stats, t.elapsed());
    match &o.verdict { Verdict::Violated(c) => println!("{c}"), v => println!("{v:?}") }
}
