import Glibc

/// Who wrote a message: one run of one process on one host.
///
/// Equal bytes do not prove that two messages have the same writer, so each message carries this name in a header.
package struct WriterName: Hashable, Sendable {
    package let host: String
    /// The process ID.
    package let process: Int32
    /// A random number, because a later process on the host may have the same process ID.
    package let number: UInt64

    package static let header = "Belfry-Writer"

    /// - Precondition: The host's name has 1 to 255 printable ASCII characters and no space.
    package init(host: String, process: Int32 = getpid(), number: UInt64 = .random(in: .min ... .max)) {
        precondition(WriterName.isHost(host), "'\(host)' is not a host's name of printable ASCII")
        (self.host, self.process, self.number) = (host, process, number)
    }

    /// Reads a header's value; nil if it is malformed.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, WriterName.isHost(parts[0]), let process = Int32(parts[1]),
            let number = UInt64(parts[2], radix: 16)
        else { return nil }
        (host, self.process, self.number) = (String(parts[0]), process, number)
    }

    private static func isHost(_ text: some StringProtocol) -> Bool {
        1...255 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
}

extension WriterName: CustomStringConvertible {
    /// The header's value, such as `a 4711 9f3c2a1b7d5e0f42`.
    package var description: String { "\(host) \(process) \(String(number, radix: 16))" }
}
