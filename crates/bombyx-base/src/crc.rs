//! [`Crc`]: the checksum of recorded computations.

/// The table for a byte at a time.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// CRC-32 as zlib and PNG compute it.
///
/// ```
/// let mut crc = bombyx_base::Crc::new();
/// crc.add(b"1234");
/// crc.add(b"56789");
/// assert_eq!(crc.value(), 0xcbf4_3926);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Crc(u32);

impl Crc {
    /// The checksum of nothing.
    pub const fn new() -> Self {
        Self(!0)
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = TABLE[usize::from(self.0 as u8 ^ byte)] ^ (self.0 >> 8);
        }
    }

    /// The checksum of all bytes so far.
    pub fn value(self) -> u32 {
        !self.0
    }
}

impl Default for Crc {
    fn default() -> Self {
        Self::new()
    }
}
