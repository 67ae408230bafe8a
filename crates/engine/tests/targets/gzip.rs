//! A gzip file written by hand: zeros, as small as they get without a second block.

/// This many zeros, gzipped (RFC 1951 and 1952).
pub fn zeros(count: usize) -> Vec<u8> {
    // One zero as it is, then "the byte before, 258 times" as often as it fits, then single zeros again.
    let repeats = count.saturating_sub(1) / 258;
    let literals = count - repeats * 258;
    let mut bits = Bits::default();
    bits.number(0b1, 1); // the last block
    bits.number(0b01, 2); // with the fixed codes
    for place in 0..literals {
        bits.code(0b0011_0000, 8); // literal 0
        if place == 0 {
            for _ in 0..repeats {
                bits.code(0b1100_0101, 8); // length 258
                bits.code(0b00000, 5); // distance 1
            }
        }
    }
    bits.code(0, 7); // the end of the block
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(bits.done());
    file.extend(crc_of_zeros(count).to_le_bytes());
    file.extend(u32::try_from(count).unwrap().to_le_bytes());
    file
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    filled: usize,
}

impl Bits {
    fn bit(&mut self, bit: u32) {
        if self.filled.is_multiple_of(8) {
            self.bytes.push(0);
        }
        *self.bytes.last_mut().unwrap() |= (bit as u8 & 1) << (self.filled % 8);
        self.filled += 1;
    }

    /// Numbers begin with their lowest bit,
    fn number(&mut self, value: u32, width: u32) {
        (0..width).for_each(|place| self.bit(value >> place));
    }

    /// codes with their highest.
    fn code(&mut self, value: u32, width: u32) {
        (0..width).rev().for_each(|place| self.bit(value >> place));
    }

    fn done(self) -> Vec<u8> {
        self.bytes
    }
}

fn crc_of_zeros(count: usize) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    let table: Vec<u32> = (0..=255).map(|byte| (0..8).fold(byte, step)).collect();
    !(0..count).fold(u32::MAX, |crc, _| (crc >> 8) ^ table[(crc & 0xff) as usize])
}
