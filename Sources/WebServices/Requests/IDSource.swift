import Synchronization

/// Makes IDs and tokens that are unique, also among all gateways of a pipeline.
final class IDSource: Sendable {
    private let prefix: String
    private let next = Atomic<UInt64>(0)

    /// - Parameter random: Distinguishes this run of this gateway from all others.
    init(random: UInt64 = .random(in: .min ... .max)) { prefix = String(random, radix: 36) }

    /// A request ID for a line at ingest's door: at most 27 bytes.
    func newRequestID() -> String {
        prefix + ":" + String(next.wrappingAdd(1, ordering: .relaxed).newValue, radix: 36)
    }

    /// A random UUID (RFC 9562, version 4), as a name for an HTTP request, or for a record or subscription that the
    /// client has not named.
    ///
    /// Foundation's `UUID()` would open `/dev/urandom` for each name.
    func newUUID() -> String {
        let high = UInt64.random(in: .min ... .max) & ~(0xF << 12) | 4 << 12
        let low = UInt64.random(in: .min ... .max) >> 2 | 1 << 63
        return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var end = 0
                for (index, byte) in bytes.enumerated() {
                    if [4, 6, 8, 10].contains(index) {
                        text[end] = UInt8(ascii: "-")
                        end += 1
                    }
                    text[end] = Self.digits[Int(byte >> 4)]
                    text[end + 1] = Self.digits[Int(byte & 15)]
                    end += 2
                }
                return end
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// A token of 64 hexadecimal digits, whose holder may read a user's notifications.
    func newCourierToken() -> String {
        (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
