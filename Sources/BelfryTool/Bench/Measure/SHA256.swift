/// SHA-256 (FIPS 180-4), for the digests that measurements are compared by. Not for secrets.
struct SHA256 {
    private static let blockBytes = 64

    private var state: [UInt32] = SHA256.fractions(of: SHA256.primes.prefix(8).map { Double($0).squareRoot() })
    private var schedule = [UInt32](repeating: 0, count: 64)
    /// The bytes of a block that is not full.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    init() { rest.reserveCapacity(SHA256.blockBytes) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count += UInt64(bytes.count)
        var bytes = bytes
        if !rest.isEmpty {
            let taken = min(SHA256.blockBytes - rest.count, bytes.count)
            rest += bytes[..<taken]
            bytes = UnsafeRawBufferPointer(rebasing: bytes[taken...])
            guard rest.count == SHA256.blockBytes else { return }
            compressRest()
        }
        while bytes.count >= SHA256.blockBytes {
            compress(bytes)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[SHA256.blockBytes...])
        }
        rest += bytes
    }

    mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
    }

    /// The digest of all that was given; nothing more may be given afterwards.
    mutating func finish() -> [UInt8] {
        let bits = count * 8
        rest.append(0x80)
        if rest.count > SHA256.blockBytes - 8 {
            rest += [UInt8](repeating: 0, count: SHA256.blockBytes - rest.count)
            compressRest()
        }
        rest += [UInt8](repeating: 0, count: SHA256.blockBytes - 8 - rest.count)
        rest += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
        compressRest()
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    static func digest(of text: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(text)
        return hash.finish()
    }

    private mutating func compressRest() {
        let block = rest
        block.withUnsafeBytes { compress($0) }
        rest.removeAll(keepingCapacity: true)
    }

    private mutating func compress(_ block: UnsafeRawBufferPointer) {
        for index in 0..<16 {
            schedule[index] = block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self).bigEndian
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let one = early.turned(7) ^ early.turned(18) ^ early >> 3
            let other = late.turned(17) ^ late.turned(19) ^ late >> 10
            schedule[index] = schedule[index - 16] &+ one &+ schedule[index - 7] &+ other
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let one =
                h &+ (e.turned(6) ^ e.turned(11) ^ e.turned(25)) &+ choice &+ SHA256.constants[index]
                &+ schedule[index]
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let other = (a.turned(2) ^ a.turned(13) ^ a.turned(22)) &+ majority
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ other)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
    }

    // FIPS 180-4, sections 4.2.2 and 5.3.3: the first 32 bits of the fractional parts of the square roots of the first
    // 8 primes, and of the cube roots of the first 64.
    private static let primes: [Int] = {
        var primes: [Int] = []
        var number = 2
        while primes.count < 64 {
            if primes.allSatisfy({ number % $0 != 0 }) { primes.append(number) }
            number += 1
        }
        return primes
    }()

    private static let constants = fractions(of: primes.map { cubeRoot(Double($0)) })

    private static func cubeRoot(_ number: Double) -> Double {
        var root = number
        for _ in 0..<64 { root -= (root * root * root - number) / (3 * root * root) }
        return root
    }

    private static func fractions(of roots: [Double]) -> [UInt32] {
        roots.map { UInt32(($0 - $0.rounded(.down)) * 0x1p32) }
    }
}

extension UInt32 {
    fileprivate func turned(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}

extension [UInt8] {
    /// Two digits a byte, in lower case.
    var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
