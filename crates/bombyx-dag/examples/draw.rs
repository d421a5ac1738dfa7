//! Prints the picture of a computation: `cargo run -p bombyx-dag --example draw -- fib:5 > fib.svg`.

use bombyx_dag::{draw, generate::Spec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec: Spec = std::env::args().nth(1).as_deref().unwrap_or("figure1").parse()?;
    print!("{}", draw::svg(&spec.build()?)?);
    Ok(())
}
