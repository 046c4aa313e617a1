/// A message from `belfry up` to a process that it started: a stage or the gateway. The message goes over the socket
/// that is the process's standard input.
///
/// The first message is the pipeline file to run. Every later file asks whether the process can switch to it. The
/// process answers, and the next message is `apply` or `discard`.
package enum SupervisorMessage: Hashable, Sendable {
    /// A pipeline file, and the folder that relative paths in it start from.
    case file(folder: String, text: String)
    /// Switch to the file of the previous message.
    case apply
    /// Keep the current file, and forget the file of the previous message.
    case discard

    /// The longest message. A pipeline file has at most 1 MiB, and a path at most 4 KiB.
    static let bytesMax = 2 << 20

    var bytes: [UInt8] {
        switch self {
        case .file(let folder, let text): Array("f\(folder)\0\(text)".utf8)
        case .apply: Array("t".utf8)
        case .discard: Array("l".utf8)
        }
    }

    /// Nil for an unknown message, and for a malformed `file` message.
    init?(_ bytes: [UInt8]) {
        switch bytes.first {
        case UInt8(ascii: "f"):
            guard let end = bytes.firstIndex(of: 0), let text = String(validating: bytes[(end + 1)...], as: UTF8.self)
            else { return nil }
            self = .file(folder: String(decoding: bytes[1..<end], as: UTF8.self), text: text)
        case UInt8(ascii: "t"): self = .apply
        case UInt8(ascii: "l"): self = .discard
        default: return nil
        }
    }
}
