/// The UUID of a log. It is random or derived from a seed, and never changes. Identifiers of events are derived from
/// this UUID.
public struct LogIdentity: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// Makes an identity from its two halves, such as the halves in a file's header.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The length of ``description`` in bytes.
    package static let textBytes = UUIDText.byteCount

    /// A random UUID (version 4).
    public static func random() -> LogIdentity {
        LogIdentity(UUIDText(high: .random(in: .min ... .max), low: .random(in: .min ... .max)).marked(version: 4))
    }

    /// An identity derived from two strings. It is the same on every machine and in every version of Belfry.
    ///
    /// `belfry run` uses it, so that each run has the same output.
    public init(seed: String, name: String) {
        var mixer = Mixer(high: 0x4265_6C66_7279_2031, low: 0x6C6F_6720_6964_2031)
        mixer.absorb(seed)
        mixer.absorb(name)
        self.init(UUIDText(high: mixer.high, low: mixer.low).marked(version: 8))
    }

    /// Parses a UUID with hexadecimal digits in upper or lower case. Nil if the string is not a UUID.
    public init?(uuid text: String) {
        guard let text = UUIDText(text) else { return nil }
        self.init(text)
    }

    /// The UUID in lower case.
    public var description: String { UUIDText(high: high, low: low).string }

    /// The identifier of a position in this log. It never changes. With 122 bits, two positions practically never have
    /// the same identifier.
    ///
    /// - Parameter salt: Distinguishes identifiers of the same position. For example, a push has an identifier for each
    ///   device.
    package func uuid(position: UInt64, salt: UInt64 = 0) -> PositionID {
        var mixer = Mixer(high: high, low: low)
        mixer.absorb(position)
        mixer.absorb(salt)
        return PositionID(text: UUIDText(high: mixer.high, low: mixer.low).marked(version: 8))
    }

    private init(_ text: UUIDText) {
        self.init(high: text.high, low: text.low)
    }
}

/// A UUID of version 8 (RFC 9562, section 5.8) that names a position in a log.
package struct PositionID: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    package let high: UInt64
    /// The last eight bytes, big-endian.
    package let low: UInt64

    init(text: UUIDText) {
        high = text.high
        low = text.low
    }

    /// Makes an identifier from its two halves.
    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// The length of ``description`` in bytes.
    package static let textBytes = UUIDText.byteCount

    package var description: String { UUIDText(high: high, low: low).string }

    /// Writes ``description`` as 36 bytes of ASCII.
    package func writeUUID(into target: UnsafeMutableRawPointer) {
        UUIDText(high: high, low: low).write(into: target)
    }
}

/// Mixes words into a 128-bit state. Identifiers depend on the results, so this algorithm must never change.
///
/// From the same start, different pairs of words lead to different states. So different (position, salt) pairs of a log
/// have different states. Two of their identifiers may still be equal, but only if the states differ in nothing but the
/// six bits that a UUID replaces by its version and variant.
package struct Mixer {
    var high: UInt64
    var low: UInt64

    mutating func absorb(_ word: UInt64) {
        high = Mixer.scramble(high ^ word)
        low = Mixer.scramble(low &+ high)
    }

    /// Absorbs the UTF-8 in words of eight bytes, then the number of bytes.
    mutating func absorb(_ text: String) {
        var (word, count) = (UInt64(0), UInt64(0))
        for byte in text.utf8 {
            word |= UInt64(byte) << (8 * (count % 8))
            count += 1
            if count % 8 == 0 {
                absorb(word)
                word = 0
            }
        }
        absorb(word)
        absorb(count)
    }

    /// A bijection in which every input bit changes about half of the output bits (the finalizer of SplitMix64).
    @inlinable
    package static func scramble(_ word: UInt64) -> UInt64 {
        var word = word &+ 0x9E37_79B9_7F4A_7C15
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
