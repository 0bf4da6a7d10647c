//! How numbers and texts are written into journal events and store values: varints (LEB128), length-prefixed bytes.
//!
//! Reading is from bytes that a disk may have damaged: every length is checked against what is left.

/// Bytes that are not what this version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed record: {0}")]
pub(crate) struct WireError(pub(crate) &'static str);

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Zigzag, so that small negative numbers stay small.
    pub(crate) fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Length plus one, zero standing for `None`.
    pub(crate) fn optional_text(&mut self, value: Option<&str>) {
        match value {
            None => self.varint(0),
            Some(text) => {
                self.varint(text.len() as u64 + 1);
                self.0.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Takes values off the front of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        let (first, rest) = self.0.split_first().ok_or(WireError("ends early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(WireError("number over 64 bits"));
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError("number over 64 bits"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, WireError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A varint that must fit the narrower type.
    pub(crate) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, WireError> {
        T::try_from(self.varint()?).map_err(|_| WireError("number out of range"))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, WireError> {
        let length = self.narrow()?;
        self.take_text(length)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.narrow()?;
        self.take(length)
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<&'a str>, WireError> {
        match self.narrow::<usize>()? {
            0 => Ok(None),
            length => self.take_text(length - 1).map(Some),
        }
    }

    fn take_text(&mut self, length: usize) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.take(length)?).map_err(|_| WireError("text is not UTF-8"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(WireError("ends early"))?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(a: u64, b: i64, c: String, d: Option<String>) {
            let mut out = Writer::default();
            out.varint(a);
            out.signed(b);
            out.text(&c);
            out.optional_text(d.as_deref());
            let bytes = out.into_bytes();
            let mut input = Reader::new(&bytes);
            prop_assert_eq!(input.varint(), Ok(a));
            prop_assert_eq!(input.signed(), Ok(b));
            prop_assert_eq!(input.text(), Ok(&*c));
            prop_assert_eq!(input.optional_text(), Ok(d.as_deref()));
            prop_assert!(input.is_empty());
        }

        #[test]
        fn any_bytes_end_in_a_value_or_an_error(bytes: Vec<u8>) {
            let mut input = Reader::new(&bytes);
            while !input.is_empty() && input.optional_text().is_ok() {}
        }
    }
}
