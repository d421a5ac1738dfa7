//! `blake3`: a tree hash that joins on halves of its input.

use cores::Subject;

pub(crate) struct Hash {
    data: Vec<u8>,
    hash: blake3::Hash,
}

impl Hash {
    pub(crate) fn new() -> Hash {
        let data = (0..16_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        Hash { data, hash: blake3::hash(&[]) }
    }
}

impl Subject for Hash {
    fn compute(&mut self) {
        self.hash = blake3::Hasher::new().update_rayon(&self.data).finalize();
    }

    fn digest(&self) -> String {
        self.hash.to_hex().to_string()
    }

    fn check(&self) -> Result<(), String> {
        if self.hash == blake3::hash(&self.data) { Ok(()) } else { Err("the hash is wrong".to_string()) }
    }
}
