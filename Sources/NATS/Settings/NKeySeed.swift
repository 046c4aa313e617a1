import Signing

/// The seed of a user's NKey: the text that begins with `SU`. It prints as `<seed>`.
///
/// A seed is Base32 (RFC 4648, section 6, without padding) of two bytes for the kind of key, 32 bytes of an Ed25519
/// private key, and a CRC-16 (NATS, nkeys).
package struct NKeySeed: Hashable, Sendable {
    let text: String
    /// The text that begins with `U`, which the server's configuration names.
    package let publicKey: String

    // nkeys: the upper five bits of the first byte become the first letter of the text.
    private static let seedPrefix: UInt8 = 18 << 3
    private static let userPrefix: UInt8 = 20 << 3
    private static let headBytes = 2
    private static let checksumBytes = 2

    /// - Parameter text: The seed. White space around it is ignored, so that it can be the content of a file.
    /// - Throws: ``NATSError/invalidCredentials(reason:)`` if the text is not the seed of a user. The error does not
    ///   repeat the text.
    package init(_ text: String) throws(NATSError) {
        let text = text.split(whereSeparator: \.isWhitespace)
        guard text.count == 1, let bytes = Base32.bytes(of: text[0]) else {
            throw .invalidCredentials(reason: "the nkey seed is not one word of Base32 digits (A-Z, 2-7)")
        }
        self.text = String(text[0])
        let key = try NKeySeed.privateKey(bytes)
        do throws(SigningError) {
            let publicBytes = try [NKeySeed.userPrefix] + Ed25519.publicKey(seed: key)
            publicKey = Base32.text(of: publicBytes + CRC16.littleEndian(of: publicBytes))
        } catch {
            throw .invalidCredentials(reason: "the nkey seed has no public key: \(error)")
        }
    }

    private static func privateKey(_ bytes: [UInt8]) throws(NATSError) -> [UInt8] {
        guard bytes.count == headBytes + Ed25519.keyBytes + checksumBytes else {
            throw .invalidCredentials(reason: "the nkey seed has \(bytes.count) bytes; a seed has 36")
        }
        guard CRC16.littleEndian(of: bytes.dropLast(checksumBytes)) == bytes.suffix(checksumBytes) else {
            throw .invalidCredentials(reason: "the checksum of the nkey seed is wrong; copy the whole seed")
        }
        let kind = [seedPrefix | userPrefix >> 5, userPrefix << 3]
        guard bytes.starts(with: kind) else {
            throw .invalidCredentials(reason: "the nkey is not the seed of a user, which begins with SU")
        }
        return Array(bytes.dropFirst(headBytes).dropLast(checksumBytes))
    }
}

extension NKeySeed: CustomStringConvertible, CustomReflectable {
    package var description: String { "<seed>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// CRC-16/XMODEM: polynomial 0x1021, first value 0.
private enum CRC16 {
    static func littleEndian(of bytes: some Sequence<UInt8>) -> [UInt8] {
        var sum: UInt16 = 0
        for byte in bytes {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        return [UInt8(truncatingIfNeeded: sum), UInt8(sum >> 8)]
    }
}

/// Base32 without padding.
private enum Base32 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Nil if the text has another character, or is not exactly what ``text(of:)`` writes.
    static func bytes(of text: Substring) -> [UInt8]? {
        var (bytes, bits, count) = ([UInt8](), 0 as UInt32, 0)
        for character in text.utf8 {
            guard let digit = digits.firstIndex(of: character) else { return nil }
            bits = bits << 5 | UInt32(digit)
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return self.text(of: bytes) == text ? bytes : nil
    }

    static func text(of bytes: [UInt8]) -> String {
        var (text, bits, count) = ([UInt8](), 0 as UInt32, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(digits[Int(bits >> UInt32(count) & 31)])
            }
        }
        if count > 0 { text.append(digits[Int(bits << UInt32(5 - count) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
