//! The bottom of the file format: numbers, strings and the checksum over a byte stream.

use super::ReadError;
use bombyx_base::Crc;
use std::io::{self, Read, Write};

/// Longest string, in bytes.
pub(super) const MAX_STRING: usize = 1 << 16;

/// Bytes in, with their offset and checksum.
pub(super) struct Source<R> {
    from: R,
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been taken yet: `buffer[at..filled]`.
    at: usize,
    filled: usize,
    /// Offset in the stream of `buffer[0]`.
    base: u64,
    /// Checksum of everything before `buffer[0]`.
    crc: Crc,
}

impl<R: Read> Source<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; 1 << 16].into(), at: 0, filled: 0, base: 0, crc: Crc::new() }
    }

    /// How many bytes have been taken.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Checksum of all bytes taken.
    pub(super) fn checksum(&mut self) -> u32 {
        self.retire();
        self.crc.value()
    }

    /// Forgets the bytes taken, after adding them to the checksum.
    fn retire(&mut self) {
        self.crc.add(&self.buffer[..self.at]);
        self.buffer.copy_within(self.at..self.filled, 0);
        self.base += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
    }

    /// Whether another byte can be taken.
    pub(super) fn more(&mut self) -> Result<bool, ReadError> {
        while self.at == self.filled {
            self.retire();
            match self.from.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => self.filled = count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io(error)),
            }
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, ReadError> {
        if self.at == self.filled && !self.more()? {
            return Err(ReadError::Truncated { offset: self.offset() });
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, ReadError> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.long_number(first) }
    }

    fn long_number(&mut self, first: u8) -> Result<u64, ReadError> {
        let offset = self.offset() - 1;
        let mut value = u64::from(first & 0x7f);
        for nth in 1..10 {
            let byte = self.byte()?;
            let superfluous = byte == 0;
            let too_large = nth == 9 && byte > 1;
            if superfluous || too_large {
                return Err(ReadError::BadNumber { offset });
            }
            value |= u64::from(byte & 0x7f) << (7 * nth);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ReadError::BadNumber { offset })
    }

    pub(super) fn string(&mut self) -> Result<String, ReadError> {
        let offset = self.offset();
        let length = self.number()?;
        if length > MAX_STRING as u64 {
            return Err(ReadError::LongString { offset, length });
        }
        let bytes = (0..length).map(|_| self.byte()).collect::<Result<Vec<u8>, _>>()?;
        String::from_utf8(bytes).map_err(|_| ReadError::NotUtf8 { offset })
    }
}

/// Bytes out, with their checksum.
pub(super) struct Sink<W> {
    to: W,
    buffer: Vec<u8>,
    crc: Crc,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, buffer: Vec::with_capacity(1 << 16), crc: Crc::new() }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= 1 << 16 { self.drain() } else { Ok(()) }
    }

    pub(super) fn number(&mut self, mut value: u64) -> io::Result<()> {
        while value >= 0x80 {
            self.buffer.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes(&[value as u8])
    }

    pub(super) fn string(&mut self, text: &str) -> io::Result<()> {
        if text.len() > MAX_STRING {
            let message = format!("a name or note of {} bytes is longer than {MAX_STRING}", text.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.number(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    fn drain(&mut self) -> io::Result<()> {
        self.crc.add(&self.buffer);
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the checksum of everything before it, flushes, and returns the writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.drain()?;
        self.to.write_all(&self.crc.value().to_le_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_common_one() {
        let mut crc = Crc::new();
        crc.add(b"1234");
        crc.add(b"56789");
        assert_eq!(crc.value(), 0xcbf4_3926);
    }

    #[test]
    fn numbers_round_trip_and_have_one_spelling() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut sink = Sink::new(Vec::new());
            sink.number(value).unwrap();
            let bytes = sink.finish().unwrap();
            assert_eq!(Source::new(&bytes[..]).number().unwrap(), value);
        }
        for bad in [
            &[0x80_u8, 0][..],
            &[0xff, 0xff, 0],
            &[0xff; 11],
            &[0xff, 255, 255, 255, 255, 255, 255, 255, 255, 2],
        ] {
            assert!(matches!(Source::new(bad).number(), Err(ReadError::BadNumber { offset: 0 })), "{bad:?}");
        }
    }

    #[test]
    fn reads_in_any_portions() {
        struct Drops<'a>(&'a [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let Some((&byte, rest)) = self.0.split_first() else { return Ok(0) };
                (into[0], self.0) = (byte, rest);
                Ok(1)
            }
        }
        let mut source = Source::new(Drops(b"123456789"));
        while source.more().unwrap() {
            source.byte().unwrap();
        }
        assert_eq!((source.offset(), source.checksum()), (9, 0xcbf4_3926));
    }
}
