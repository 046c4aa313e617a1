import CloudKitModel
import JSON
import Time

/// A 128-bit fingerprint that stands for names, such as the names that identify a record.
///
/// It is SipHash-2-4 with 128 bits of output. The key is the identity of the log, so the fingerprint is the same in
/// every process. Nobody who lacks the key can choose names that share a fingerprint.
struct NameFingerprint: Hashable, Sendable {
    let high: UInt64
    let low: UInt64
}

extension NameFingerprint {
    /// The key of all fingerprints of a log.
    struct Key: Sendable {
        private let first: UInt64
        private let second: UInt64

        init(_ log: LogIdentity) { self.init(log.high, log.low) }

        init(_ first: UInt64, _ second: UInt64) { (self.first, self.second) = (first, second) }

        @inline(__always)
        func fingerprint(of bytes: UnsafeRawBufferPointer) -> NameFingerprint {
            var state = SipState(first, second)
            return state.fingerprint(of: bytes)
        }

        /// The fingerprints of an address. The fingerprint of the record includes the fingerprint of its zone.
        @inline(__always)
        func fingerprints(of address: RecordAddress) -> (zone: NameFingerprint, record: NameFingerprint) {
            address.bytes.withUnsafeBytes { bytes in
                let zone = fingerprint(of: UnsafeRawBufferPointer(rebasing: bytes[..<address.zoneBytes]))
                var state = SipState(first, second)
                state.absorb(zone.high)
                state.absorb(zone.low)
                return (zone, state.fingerprint(of: UnsafeRawBufferPointer(rebasing: bytes[address.zoneBytes...])))
            }
        }

        /// A short fingerprint of a record type. Two types have the same fingerprint with a probability of one in four
        /// billion.
        @inline(__always)
        func fingerprint(ofType name: JSONValue) -> UInt32 {
            name.withText { UInt32(truncatingIfNeeded: fingerprint(of: $0).low) } ?? 0
        }
    }
}

// SipHash: Aumasson and Bernstein, "SipHash: a fast short-input PRF". The 128-bit output follows their reference code.
private struct SipState {
    private var (a, b, c, d): (UInt64, UInt64, UInt64, UInt64)

    @inline(__always)
    init(_ first: UInt64, _ second: UInt64) {
        a = first ^ 0x736F_6D65_7073_6575
        b = second ^ 0x646F_7261_6E64_6F6D ^ 0xEE
        c = first ^ 0x6C79_6765_6E65_7261
        d = second ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    mutating func fingerprint(of bytes: UnsafeRawBufferPointer) -> NameFingerprint {
        var offset = 0
        while offset + 8 <= bytes.count {
            absorb(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for index in offset..<bytes.count { last |= UInt64(bytes[index]) << UInt64(8 * (index - offset)) }
        absorb(last)
        return finish()
    }

    @inline(__always)
    mutating func absorb(_ word: UInt64) {
        d ^= word
        round()
        round()
        a ^= word
    }

    @inline(__always)
    private mutating func finish() -> NameFingerprint {
        c ^= 0xEE
        for _ in 0..<4 { round() }
        let first = a ^ b ^ c ^ d
        b ^= 0xDD
        for _ in 0..<4 { round() }
        return NameFingerprint(high: first, low: a ^ b ^ c ^ d)
    }

    @inline(__always)
    private mutating func round() {
        a &+= b
        b = SipState.rotated(b, 13) ^ a
        a = SipState.rotated(a, 32)
        c &+= d
        d = SipState.rotated(d, 16) ^ c
        a &+= d
        d = SipState.rotated(d, 21) ^ a
        c &+= b
        b = SipState.rotated(b, 17) ^ c
        c = SipState.rotated(c, 32)
    }

    @inline(__always)
    private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}
