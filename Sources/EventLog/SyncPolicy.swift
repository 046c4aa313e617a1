/// When a log calls `fdatasync`.
///
/// With any policy, appended events survive a crash of the process. With ``always``, all events that count as durable
/// also survive a power failure. The other policies do not promise this.
public enum SyncPolicy: Sendable, Hashable {
    /// An event counts as durable after an `fdatasync`. One call covers all waiting events.
    case always
    /// Calls `fdatasync` this long after a write. If events are written during an `fdatasync`, this time begins when
    /// that `fdatasync` ends. A power failure may lose the events that no `fdatasync` has covered.
    case interval(Duration)
    /// The system decides when to write events to the disk. The log calls `fdatasync` for a finished segment in the
    /// background. After a power failure the log may need a repair.
    case never
}

/// `always`, `never`, or `interval` followed by a whole number of `us`, `ms` or `s`, as in `interval 50ms`.
extension SyncPolicy: LosslessStringConvertible {
    public init?(_ description: String) {
        switch description {
        case "always": self = .always
        case "never": self = .never
        default:
            guard description.hasPrefix("interval "),
                let duration = SyncPolicy.duration(description.dropFirst("interval ".count))
            else { return nil }
            self = .interval(duration)
        }
    }

    public var description: String {
        switch self {
        case .always: "always"
        case .never: "never"
        case .interval(let duration): "interval \(SyncPolicy.text(duration.wholeMicroseconds))"
        }
    }

    private static func duration(_ text: Substring) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int32(digits), number > 0 else { return nil }
        switch text[digits.endIndex...] {
        case "us": return .microseconds(number)
        case "ms": return .milliseconds(number)
        case "s": return .seconds(number)
        default: return nil
        }
    }

    private static func text(_ microseconds: Int64) -> String {
        if microseconds % 1_000_000 == 0 { return "\(microseconds / 1_000_000)s" }
        return microseconds % 1000 == 0 ? "\(microseconds / 1000)ms" : "\(microseconds)us"
    }
}
