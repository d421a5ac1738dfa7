//! As much of protocol buffers as a writer needs: numbers, texts, messages in messages.

/// A message that grows.
pub(super) struct Message(Vec<u8>);

/// The types of fields on the wire.
const VARINT: u64 = 0;
const FIXED: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    pub(super) fn new() -> Message {
        Message(Vec::new())
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits per byte, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.tag(field, BYTES);
        self.varint(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    /// A message in this one. Its length stands before it, and is known only when it is complete.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.tag(field, BYTES);
        let begin = self.0.len();
        fill(self);
        let mut length = Message::new();
        length.varint((self.0.len() - begin) as u64);
        self.0.splice(begin..begin, length.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own documentation.
    #[test]
    fn fields_look_as_they_should() {
        let mut message = Message::new();
        message.number(1, 150);
        message.text(2, "testing");
        message.message(3, |inner| inner.number(1, 150));
        message.fixed(4, 1);
        let wanted = [
            &[0x08, 0x96, 0x01][..],
            &[0x12, 0x07],
            b"testing",
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x21, 1, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(message.into_bytes(), wanted.concat());
    }
}
