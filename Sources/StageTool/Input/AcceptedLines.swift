import PipelineRuntime

/// Consecutive lines of one source, with the numbers that the door gives them.
struct LineSpan: Hashable, Sendable {
    /// The door's number of the first line.
    let first: UInt64
    let count: UInt64
    let source: String
    /// The number of the first line in its source.
    let line: UInt64
}

extension [LineSpan] {
    /// The source of the line with this number at the door, and the line's number in that source. A line after the last
    /// span counts as a line of the last span's source. Nil if the line is before the first span.
    func place(of number: UInt64) -> (source: String, line: UInt64)? {
        last { $0.first <= number }.map { ($0.source, $0.line + number - $0.first) }
    }
}

/// The source and number of each line that the door accepted. ``place(ofEvent:)`` is right only if each of these lines
/// became exactly one event. A `records.modify`, for example, may become several.
package struct AcceptedLines: Hashable, Sendable {
    /// The lines of one ``LineSender``.
    fileprivate struct Part: Hashable {
        var spans: [LineSpan] = []
        /// The door's numbers of the refused lines, in ascending order.
        var refused: [UInt64] = []
        var accepted: UInt64 = 0
    }

    private var parts: [Part] = []
    /// Whether the door has named all the lines that it refused.
    private var knowsAllRefusedLines = true

    package var count: UInt64 { parts.reduce(0) { $0 + $1.accepted } }

    mutating func add(_ span: LineSpan) {
        if parts.isEmpty { parts.append(Part()) }
        parts[parts.count - 1].spans.append(span)
    }

    mutating func add(_ answer: Producer.Answer) {
        guard !parts.isEmpty else { return }
        parts[parts.count - 1].refused += answer.refusals.map(\.line)
        parts[parts.count - 1].accepted += UInt64(answer.accepted)
        knowsAllRefusedLines = knowsAllRefusedLines && answer.refused == answer.refusals.count
    }

    /// Adds lines whose answers were lost. Some of them may have been refused, but it is not known which. All of them
    /// count as accepted.
    mutating func addLinesWithLostAnswers(_ count: UInt64) {
        guard !parts.isEmpty else { return }
        parts[parts.count - 1].accepted += count
        knowsAllRefusedLines = false
    }

    /// - Parameter event: The number of the event among the events of all accepted lines, counted from 1.
    /// - Returns: The line that became the event, as `FILE:LINE`; nil if the line is not known.
    package func place(ofEvent event: UInt64) -> String? {
        guard knowsAllRefusedLines else { return nil }
        var index = event
        for part in parts {
            if index <= part.accepted { return part.place(ofEvent: index) }
            index -= part.accepted
        }
        return nil
    }

    static func += (all: inout AcceptedLines, more: AcceptedLines) {
        all.parts += more.parts
        all.knowsAllRefusedLines = all.knowsAllRefusedLines && more.knowsAllRefusedLines
    }
}

extension AcceptedLines.Part {
    fileprivate func place(ofEvent event: UInt64) -> String? {
        guard let start = spans.first?.first, event > 0 else { return nil }
        var number = start + event - 1
        for line in refused where line <= number { number += 1 }
        guard spans.contains(where: { $0.first <= number && number - $0.first < $0.count }) else { return nil }
        return spans.place(of: number).map { "\($0.source):\($0.line)" }
    }
}
