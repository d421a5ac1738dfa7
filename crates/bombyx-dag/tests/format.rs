//! The file format: round trips, and every kind of damage answered with an error, never a panic.

use bombyx_dag::format::{ReadError, Reader, read, read_at_most, write};
use bombyx_dag::generate::{GENERATORS, Spec, figure1};
use bombyx_dag::{BuildError, Builder, Computation, SiteId, WeightUnit};

fn bytes(c: &Computation) -> Vec<u8> {
    write(c, Vec::new()).expect("a vector takes all bytes")
}

/// Everything the format can say, in few bytes.
fn rich() -> Computation {
    let mut b = Builder::new(100);
    b.weight_unit(WeightUnit::Nanoseconds);
    b.note("program", "täglich");
    b.note("", "");
    let site = b.site("src/lib.rs:1:2");
    b.site("unused");
    b.strand(1_000_000);
    b.allocate(300);
    b.spawn_at(site, 20);
    b.strand(1);
    b.free(300);
    let early = b.strand(2);
    b.strand(1);
    let late = b.end();
    b.strand(5);
    b.strand(200);
    b.wait_for(early);
    b.wait_for(late);
    b.build().unwrap()
}

#[test]
fn round_trips() {
    let computation = rich();
    let back = read(bytes(&computation).as_slice()).unwrap();
    assert_eq!(back, computation);
    assert_eq!(back.site_name(SiteId(0)), "src/lib.rs:1:2");
    for generator in GENERATORS {
        let computation = generator.name.parse::<Spec>().unwrap().build().unwrap();
        assert_eq!(read(bytes(&computation).as_slice()).unwrap(), computation, "{}", generator.name);
    }
}

#[test]
fn figure1_is_as_documented_and_small() {
    let file = bytes(&figure1(1));
    let head = [0x89, 0x44, 0x41, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 2];
    assert_eq!(file[..head.len()], head);
    assert!(file.len() < 100, "{} bytes", file.len());
}

/// Files of version 1 stay readable: these bytes were written when it was new.
#[test]
fn an_old_file_is_read() {
    let file = b"\x89DAG\x0d\x0a\x1a\x0a\x01d\x06\x01\x04\x07program\x08t\xc3\xa4glich\x04\x00\x00\x03\x0es\
        rc/lib.rs:1:2\x03\x06unused\x08\xc0\x84=\xac\x02\x19\x14\x00\x10\x01\xac\x02\x00\x02\x00\
        \x01\x02\x00\x05 \xc8\x01\x02\x03\x02\x07\x06\x02\x02#g\xcc\xf8";
    assert_eq!(bytes(&rich()), file);
    assert_eq!(read(file.as_slice()).unwrap(), rich());
}

#[test]
fn a_cut_anywhere_is_an_error() {
    for computation in [rich(), figure1(1)] {
        let file = bytes(&computation);
        for length in 0..file.len() {
            let error = read(&file[..length]).expect_err("the file is incomplete");
            let expected = if length < 8 { "not a dag file" } else { "stops early" };
            assert!(error.to_string().contains(expected), "{length}: {error}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error() {
    for computation in [rich(), figure1(1)] {
        let file = bytes(&computation);
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(flipped.as_slice()).is_err(), "bit {bit} of {}", file.len() * 8);
        }
    }
}

/// SplitMix64, as good as any for making garbage.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 8
}

#[test]
fn garbage_is_an_error() {
    for seed in 0..20_000_u64 {
        let mut state = seed;
        let head = &bytes(&figure1(1))[..(noise(&mut state) % 12) as usize];
        let tail = noise(&mut state) % 200;
        let mut file = head.to_vec();
        // Mostly small bytes, so that records are often well formed and the deeper checks are reached.
        file.extend((0..tail).map(|_| {
            let byte = noise(&mut state) as u8;
            if byte < 200 { byte % 8 } else { byte }
        }));
        assert!(read(file.as_slice()).is_err(), "seed {seed}");
    }
}

/// A file with these records and a right end.
fn sealed(records: &[u8], counts: [u8; 3]) -> Vec<u8> {
    let mut file = bytes(&figure1(1))[..10].to_vec();
    file.extend_from_slice(records);
    file.push(7);
    file.extend(counts);
    let mut crc = bombyx_base::Crc::new();
    crc.add(&file);
    file.extend(crc.value().to_le_bytes());
    file
}

fn error_of(records: &[u8], counts: [u8; 3]) -> ReadError {
    read(sealed(records, counts).as_slice()).expect_err("the file is damaged")
}

#[test]
fn each_kind_of_damage_has_its_error() {
    assert!(read(sealed(&[0, 1], [1, 1, 0]).as_slice()).is_ok());
    assert!(read(sealed(&[0, 1, 5, 99, 3, 1, 2, 3], [1, 1, 0]).as_slice()).is_ok(), "extensions are skipped");

    assert!(matches!(read(&b"P5 640 480"[..]), Err(ReadError::NotADagFile)));
    let mut newer = bytes(&figure1(1));
    newer[8] = 2;
    assert!(matches!(read(newer.as_slice()), Err(ReadError::Version(2))));
    assert!(matches!(error_of(&[0x42], [0; 3]), ReadError::BadRecord { offset: 10, byte: 0x42 }));
    assert!(matches!(error_of(&[0x80, 1], [0; 3]), ReadError::BadRecord { .. }));
    assert!(matches!(error_of(&[0, 0x80, 0], [0; 3]), ReadError::BadNumber { offset: 11 }));
    assert!(matches!(error_of(&[3, 0xff, 0xff, 0xff, 0xff, 1], [0; 3]), ReadError::LongString { .. }));
    assert!(matches!(error_of(&[3, 1, 0xff], [0; 3]), ReadError::NotUtf8 { offset: 11 }));
    assert!(matches!(error_of(&[6, 2], [0; 3]), ReadError::UnknownUnit { unit: 2, .. }));
    assert!(matches!(error_of(&[32, 1, 0], [0; 3]), ReadError::BadJoin { offset: 12 }));
    assert!(matches!(error_of(&[32, 1, 1, 1], [0; 3]), ReadError::BadJoin { offset: 13 }));
    assert!(matches!(error_of(&[32, 1, 1, 0], [0; 3]), ReadError::BadJoin { offset: 13 }));
    let invalid = |records: &[u8]| match error_of(records, [0; 3]) {
        ReadError::Invalid { error, .. } => error,
        other => panic!("{other}"),
    };
    assert!(matches!(invalid(&[0, 0]), BuildError::ZeroWeight(_)));
    assert!(matches!(invalid(&[0, 1, 16 | 1, 0]), BuildError::UnknownSite(_)));
    assert!(matches!(invalid(&[0, 1, 2]), BuildError::EndOfRoot));
    assert!(matches!(error_of(&[], [0, 1, 0]), ReadError::Invalid { error: BuildError::EmptyThread(_), .. }));
    assert!(matches!(error_of(&[0, 1], [2, 1, 0]), ReadError::WrongCounts));
    let mut changed = sealed(&[0, 1], [1, 1, 0]);
    changed[11] = 2;
    assert!(matches!(read(changed.as_slice()), Err(ReadError::WrongChecksum)));
    let mut longer = sealed(&[0, 1], [1, 1, 0]);
    longer.push(0);
    assert!(matches!(read(longer.as_slice()), Err(ReadError::TrailingBytes { offset: 20 })));
    assert!(matches!(
        read_at_most(22, bytes(&figure1(1)).as_slice()),
        Err(ReadError::TooManyStrands { limit: 22 })
    ));
}

/// Claims of huge lengths must not be believed before the bytes are there.
#[test]
fn huge_claims_cost_nothing() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let with = |before: &[u8]| [before, &huge].concat();
    for records in [with(&[0, 1, 5, 1]), with(&[0, 1, 0x20, 1]), with(&[0, 1, 3]), with(&[0, 1, 4, 0])] {
        let file = [&bytes(&figure1(1))[..10], &records].concat();
        assert!(read(file.as_slice()).is_err());
    }
}

#[test]
fn errors_while_reading_are_passed_on() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
    }
    assert!(Reader::new(Broken).err().unwrap().to_string().contains("the cable is out"));
}
