import CloudKitModel
import Foundation
import Time

/// Bytes as text for clients: base64url without padding, with a checksum. The checksum also covers a purpose, which is
/// not in the text. So a text for one purpose is refused for any other.
///
/// The checksum finds mistakes. It is not a signature, and need not be one: a client that forges a text can read only
/// what it can also read without the text.
struct OpaqueText {
    private var content: [UInt8]

    init(version: UInt8) { content = [version] }

    mutating func append(_ number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { content.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// - Precondition: At most 65,535 bytes.
    mutating func append(_ bytes: [UInt8]) {
        let count = UInt16(bytes.count)
        content += [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + bytes
    }

    func text(for purpose: [UInt8]) -> String {
        var whole = self
        whole.append(OpaqueText.checksum(content, purpose))
        return OpaqueText.base64URL(whole.content)
    }

    static func purpose(_ word: String, _ database: DatabaseID) -> [UInt8] {
        let names = [
            word, database.container, database.environment.word.description, database.scope.word.description,
            database.owner ?? "",
        ]
        return names.flatMap { Array($0.utf8) + [0] }
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The checksum of equal bytes is equal on every machine and in every version of Belfry.
    private static func checksum(_ content: [UInt8], _ purpose: [UInt8]) -> UInt64 {
        var sum: UInt64 = 0x4265_6C66_7279
        for part in [content, purpose] {
            for byte in part { sum = Mixer.scramble(sum ^ UInt64(byte)) }
            sum = Mixer.scramble(sum ^ UInt64(part.count))
        }
        return sum
    }
}

extension OpaqueText {
    /// Reads the numbers and bytes of a text, in the order in which they were appended.
    struct Reader {
        private let content: [UInt8]
        private var next = 1

        /// Nil if the text was altered, or was made for another purpose or version.
        init?(_ text: String, version: UInt8, for purpose: [UInt8]) {
            let standard = text.replacing("-", with: "+").replacing("_", with: "/")
            let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
            guard let data = Data(base64Encoded: standard + padding), data.count > 8 else { return nil }
            content = Array(data.dropLast(8))
            var made = OpaqueText(version: version)
            made.content = content
            guard content[0] == version, made.text(for: purpose) == text else { return nil }
        }

        var isAtEnd: Bool { next == content.count }

        mutating func number() -> UInt64? { readBytes(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } } }

        mutating func bytes() -> [UInt8]? {
            guard let count = readBytes(2) else { return nil }
            return readBytes(Int(count[0]) << 8 | Int(count[1]))
        }

        private mutating func readBytes(_ count: Int) -> [UInt8]? {
            guard content.count - next >= count else { return nil }
            defer { next += count }
            return Array(content[next..<(next + count)])
        }
    }
}
