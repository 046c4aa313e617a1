import EventLog
import Time

/// A position in a log as a user writes it: `17`, `2026-11-20T09:30:00Z`, or `-10m` (also `10m ago`).
package enum LogPosition: Equatable, Sendable {
    case sequence(UInt64)
    case time(Instant)
    /// The time that is this duration before the log's last event.
    case back(Duration)

    package init?(argument: String) {
        if let sequence = UInt64(argument) {
            guard sequence > 0 else { return nil }
            self = .sequence(sequence)
        } else if let time = Instant(rfc3339: argument) {
            self = .time(time)
        } else if let duration = LogPosition.duration(back: argument) {
            self = .back(duration)
        } else {
            return nil
        }
    }

    /// The position in one log.
    ///
    /// - Parameter directory: The log's own folder. An empty log counts as ending at the epoch.
    package func point(in directory: String) throws(EventLogError) -> LogPoint {
        switch self {
        case .sequence(let sequence): return .sequence(sequence)
        case .time(let time): return .time(time)
        case .back(let duration):
            let last = try EventLogs.summary(directory: directory).lastNow ?? .epoch
            return .time(last.advanced(by: .zero - duration))
        }
    }

    private static func duration(back text: String) -> Duration? {
        if text.hasPrefix("-") { return Duration(words: text.dropFirst()) }
        guard text.hasSuffix(" ago") else { return nil }
        return Duration(words: text.dropLast(" ago".count))
    }
}

/// A position in one log.
package enum LogPoint: Equatable {
    case sequence(UInt64)
    case time(Instant)

    /// The start of a reader that begins at this point.
    package var start: EventLogReader.Start {
        switch self {
        case .sequence(let sequence): .sequence(sequence)
        case .time(let time): .time(time)
        }
    }

    /// Whether all events of a batch come after this point.
    package func isBefore(_ header: BatchHeader) -> Bool {
        switch self {
        case .sequence(let last): header.firstSequence > last
        case .time(let last): header.now > last
        }
    }
}

extension Duration {
    private static let units: [(name: String, microseconds: Int64)] = [
        ("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000), ("d", 86_400_000_000),
    ]

    /// Parses whole numbers with units, such as `90s` and `1h30m`.
    init?(words text: some StringProtocol) {
        var (rest, sum) = (Substring(text), Int64(0))
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let unit = rest.dropFirst(digits.count).prefix { $0.isASCII && $0.isLetter }
            guard let number = Int64(digits), let size = Duration.units.first(where: { $0.name == unit }) else {
                return nil
            }
            let (product, overflow) = number.multipliedReportingOverflow(by: size.microseconds)
            let (total, overflowToo) = sum.addingReportingOverflow(product)
            guard !overflow, !overflowToo else { return nil }
            sum = total
            rest = rest.dropFirst(digits.count + unit.count)
        }
        self = .microseconds(sum)
    }
}
