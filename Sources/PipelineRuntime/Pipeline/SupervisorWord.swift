/// What `belfry up` tells a stage's process of the pipeline file, over the socket that is the process's standard input.
///
/// The first word is the file to run from. Every later file is a question, which the process answers: whether it could go on
/// with it. What becomes of it is the next word.
package enum SupervisorWord: Hashable, Sendable {
    /// A pipeline file, and where relative paths in it begin.
    case file(folder: String, text: String)
    /// Go on with the file that was asked about.
    case take
    /// Stay with the file of before.
    case leave

    /// The longest word: a file has at most 1 MiB, and a path 4 KiB.
    static let bytesMax = 2 << 20

    var bytes: [UInt8] {
        switch self {
        case .file(let folder, let text): Array("f\(folder)\0\(text)".utf8)
        case .take: Array("t".utf8)
        case .leave: Array("l".utf8)
        }
    }

    /// Nil where it is none.
    init?(_ bytes: [UInt8]) {
        switch bytes.first {
        case UInt8(ascii: "f"):
            guard let end = bytes.firstIndex(of: 0), let text = String(validating: bytes[(end + 1)...], as: UTF8.self)
            else { return nil }
            self = .file(folder: String(decoding: bytes[1..<end], as: UTF8.self), text: text)
        case UInt8(ascii: "t"): self = .take
        case UInt8(ascii: "l"): self = .leave
        default: return nil
        }
    }
}
