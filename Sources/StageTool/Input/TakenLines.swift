import PipelineRuntime

/// Where in its inputs each line stood that the door has taken, by the number of the event that it became: each line
/// that is taken becomes one event.
package struct TakenLines: Hashable, Sendable {
    /// Lines that stood one after the other, as they were numbered for the door.
    fileprivate struct Span: Hashable {
        var first: UInt64
        var count: UInt64
        var source: String
        var line: UInt64
    }

    /// What one sender sent.
    fileprivate struct Part: Hashable {
        fileprivate var spans: [Span] = []
        /// By their numbers, ascending.
        var refused: [UInt64] = []
        var taken: UInt64 = 0
    }

    private var parts: [Part] = []
    /// Whether each line that was refused is known.
    private var isWhole = true

    /// How many there are.
    package var count: UInt64 { parts.reduce(0) { $0 + $1.taken } }

    mutating func note(_ block: LineReader.Block, first: UInt64) {
        if parts.isEmpty { parts.append(Part()) }
        let span = Span(first: first, count: UInt64(block.count), source: block.source, line: block.firstLine)
        parts[parts.count - 1].spans.append(span)
    }

    mutating func note(_ answer: Producer.Answer) {
        guard !parts.isEmpty else { return }
        parts[parts.count - 1].refused += answer.refusals.map(\.line)
        parts[parts.count - 1].taken += UInt64(answer.accepted)
        isWhole = isWhole && answer.refused == answer.refusals.count
    }

    /// - Parameter event: Counted from 1.
    /// - Returns: `FILE:LINE`; nil where that is not known.
    package func place(ofEvent event: UInt64) -> String? {
        guard isWhole else { return nil }
        var index = event
        for part in parts {
            if index <= part.taken { return part.place(ofEvent: index) }
            index -= part.taken
        }
        return nil
    }

    static func += (all: inout TakenLines, more: TakenLines) {
        all.parts += more.parts
        all.isWhole = all.isWhole && more.isWhole
    }
}

extension TakenLines.Part {
    fileprivate func place(ofEvent event: UInt64) -> String? {
        guard let start = spans.first?.first, event > 0 else { return nil }
        var number = start + event - 1
        for line in refused where line <= number { number += 1 }
        guard let span = spans.last(where: { $0.first <= number }), number - span.first < span.count else { return nil }
        return "\(span.source):\(span.line + number - span.first)"
    }
}
