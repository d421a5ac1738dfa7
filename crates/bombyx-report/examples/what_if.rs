//! What the sliders of a page must answer, for `scripts/browser`: `what_if FILE`, a profile or a recording. Prints a list of
//! numbers of processors, factors, and the speedup with them.

use bombyx_report::Model;
use serde_json::json;

fn main() {
    let file = std::env::args().nth(1).expect("a profile or a recording");
    let bytes = std::fs::read(file).expect("it can be read");
    let model = match bombyx_profile::read(&bytes[..]) {
        Ok(profile) => Model::of_profile(&profile),
        Err(_) => Model::of_recording(&bombyx_dag::format::read(&bytes[..]).expect("a recording")),
    };
    let mut random = 42_u64;
    let mut step = || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % 21
    };
    let mut answers = Vec::new();
    for on in &model.on {
        for _ in 0..3 {
            let factors: Vec<f64> =
                model.sites.iter().map(|_| ((step() as f64 - 4.0) / 4.0).exp2()).collect();
            answers.push(json!([on.processors, factors, model.speedup(on, &factors)]));
        }
    }
    println!("{}", json!(answers));
}
