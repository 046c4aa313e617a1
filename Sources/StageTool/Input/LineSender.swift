import PipelineRuntime

/// Sends lines through a door and says of each refused one where it stands and why. Belongs to one thread.
package final class LineSender {
    package struct Totals: Equatable {
        /// Lines that this run read, but for those that the door had already.
        package var lines: UInt64 = 0
        package var accepted: UInt64 = 0
        package var refused: UInt64 = 0
        /// Lines that the door had from an earlier run.
        package var known: UInt64 = 0
        /// How many of those were refused then; nil where the door does not know that.
        package var knownRefused: UInt64? = 0
        /// Where they stood, if ``LineSender/tracksLines``.
        package var taken = TakenLines()

        package init() {}

        /// Of the whole input, as far as the door knows.
        package var allRefused: UInt64 { refused + (knownRefused ?? 0) }
    }

    /// A line that saved a subscription.
    package struct Saved {
        package var source: String
        package var line: UInt64
        package var answer: Producer.Saved
    }

    /// What a line's number meant to the door is here.
    private struct Span {
        var first: UInt64
        var source: String
        var line: UInt64
    }

    private let producer: Producer
    private let reader: LineReader
    private let complain: (String) -> Void
    private var spans: [Span] = []
    private var next: UInt64 = 1
    private var skip: UInt64 = 0
    /// Of the lines passed over so far.
    private var skipped = LineChecksum()
    private var lastSource = "the input"
    private var hasGreeted = false
    /// The last line that the door has taken or refused for good, by its number at the door.
    private var through: UInt64 = 0
    package private(set) var totals = Totals()
    /// Whether it stopped at a line that asks for a restart.
    package private(set) var restarts = false
    private var heard = ContinuousClock.now
    /// Whether it keeps where each line stood that is taken: some bytes for each block and each refusal.
    package var tracksLines = false
    /// Called after every step; sending stops when it is false.
    package var mayContinue: (Totals) -> Bool = { _ in true }
    /// Called for every subscription that was saved, in order; what there is to warn of is said without it.
    package var onSaved: (Saved) -> Void = { _ in }

    package convenience init(_ producer: Producer, _ sources: [InputSource], complain: @escaping (String) -> Void) {
        self.init(producer, LineReader(sources), complain: complain)
    }

    package init(_ producer: Producer, _ reader: LineReader, complain: @escaping (String) -> Void) {
        self.producer = producer
        self.reader = reader
        self.complain = complain
        producer.onAnswer = { [unowned self] in take($0) }
    }

    /// Sends everything, or all before a restart, and returns when the door has answered for it.
    ///
    /// - Parameters:
    ///   - patience: How long the door may be silent while an answer is due.
    ///   - resumes: Whether the door has the first lines of this input already, as far as it knows this producer.
    /// - Throws: ``LinkError/silent(endpoint:waited:)``; ``ToolFailure`` where an input cannot be read, or does not begin
    ///   with the lines that the door has.
    package func run(patience: Duration, resumes: Bool) throws -> Totals {
        guard let known = try producer.greet(timeout: patience, while: { mayContinue(totals) }) else { return totals }
        skip = resumes ? known : 0
        next = known + 1
        through = known
        hasGreeted = true
        heard = .now
        while mayContinue(totals), !isAtEnd || !producer.isDone { try step(patience) }
        if isAtEnd, skip > 0 { throw otherLines() }
        return totals
    }

    private var isAtEnd: Bool { restarts || reader.isAtEnd }
    private var wantsMore: Bool { producer.hasRoom && !restarts }

    private func step(_ patience: Duration) throws {
        if wantsMore, let block = try reader.next() {
            try send(block)
            return try producer.pump(wait: .zero)
        }
        if producer.isDone { heard = .now }
        guard .now - heard < patience else { throw producer.silence(waited: patience) }
        try producer.pump(wait: .milliseconds(100), input: wantsMore ? reader.waitsFor : nil)
    }

    private func send(_ block: LineReader.Block) throws {
        if block.restarts {
            restarts = true
            return
        }
        lastSource = block.source
        if let bytes = block.tooLong { return refuse(block, bytes) }
        guard let block = try afterKnown(block) else { return }
        totals.lines += UInt64(block.count)
        spans.append(Span(first: next, source: block.source, line: block.firstLine))
        if tracksLines { totals.taken.note(block, first: next) }
        next += UInt64(block.count)
        try producer.send(block.bytes, count: block.count)
    }

    private func refuse(_ block: LineReader.Block, _ bytes: Int) {
        totals.lines += 1
        totals.refused += 1
        let limit = LineReader.lineBytesMax
        complain("\(block.source):\(block.firstLine): \(bytes) bytes, over the limit of \(limit) (json.too_long)")
    }

    /// The part of a block that the door has not got from an earlier run.
    ///
    /// - Throws: ``ToolFailure`` where the lines that it would pass over are not those that the door has.
    private func afterKnown(_ block: LineReader.Block) throws(ToolFailure) -> LineReader.Block? {
        guard skip > 0 else { return block }
        let count = min(skip, UInt64(block.count))
        let end = LineSender.end(ofLine: count, in: block.bytes)
        block.bytes[..<end].withUnsafeBytes { skipped.add($0) }
        skip -= count
        if skip == 0, let checksum = producer.checksum, checksum != skipped { throw otherLines() }
        totals.known += count
        let refused = producer.refusedThrough
        // Which of the lines were refused is not known, only how many of all.
        totals.knownRefused = skip == 0 || refused == 0 ? refused : nil
        guard count < block.count else { return nil }
        var rest = block
        rest.bytes.removeFirst(end)
        rest.firstLine += count
        rest.count -= Int(count)
        return rest
    }

    private static func end(ofLine count: UInt64, in bytes: [UInt8]) -> Int {
        var (left, index) = (count, 0)
        while left > 0, index < bytes.count {
            if bytes[index] == UInt8(ascii: "\n") { left -= 1 }
            index += 1
        }
        return index
    }

    private func otherLines() -> ToolFailure {
        let known = producer.checksumThrough.of("line")
        return ToolFailure(
            .badData,
            """
            \(lastSource) does not begin with the \(known) that the producer \(producer.name.printable) has sent before: \
            nothing was sent; send other lines under another producer's name, or without one
            """)
    }

    private func take(_ answer: Producer.Answer) {
        heard = .now
        through = max(through, answer.through)
        totals.accepted += UInt64(answer.accepted)
        totals.refused += UInt64(answer.refused)
        if tracksLines { totals.taken.note(answer) }
        for refusal in answer.refusals { complain(text(refusal)) }
        let unnamed = answer.refused - answer.refusals.count
        if unnamed > 0 { complain("\(unnamed.of("more line")) refused") }
        for saved in answer.saved { take(saved) }
        let unsaid = answer.warnings - answer.saved.reduce(0) { $0 + $1.subscription.warnings.count }
        if unsaid > 0 { complain(unsaid.of("more warning")) }
        while spans.count > 1, spans[1].first <= answer.through { spans.removeFirst() }
    }

    private func take(_ saved: Producer.Saved) {
        for warning in saved.subscription.warnings {
            complain(text(saved.line, "warning: ", warning.path, warning.reason, warning.code))
        }
        let (source, line) = origin(saved.line) ?? ("line", saved.line)
        onSaved(Saved(source: source, line: line, answer: saved))
    }

    private func text(_ refusal: Producer.Refusal) -> String {
        text(refusal.line, "", refusal.path, refusal.reason, refusal.code)
    }

    private func text(_ line: UInt64, _ kind: String, _ path: String, _ reason: String, _ code: String) -> String {
        let path = path.isEmpty ? "" : "\(path.printable): "
        // Below the reason of a predicate stand its text and a caret.
        let lines = reason.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).withoutControls }
        let head = "\(place(line)): \(kind)\(path)\(lines.first ?? "") (\(code))"
        return ([head] + lines.dropFirst().map { "    " + $0 }).joined(separator: "\n")
    }

    /// What to tell whose sending has failed: how far it came, and how to go on.
    ///
    /// - Parameter name: The producer's lasting name, if it has one.
    package func progress(producer name: String?) -> String {
        let done = totals.accepted + totals.known
        let unanswered = hasGreeted ? next - 1 - through : 0
        guard hasGreeted, done + totals.refused + unanswered > 0 else { return "nothing is taken yet" }
        let taken = done - (totals.knownRefused ?? 0)
        var text = done + totals.refused == 0 ? "no line is answered yet" : ""
        if text.isEmpty {
            text = "\(taken.of("line")) \(taken == 1 ? "is" : "are") taken"
            if totals.knownRefused == nil { text += " or refused" }
            if totals.allRefused > 0 { text += ", \(totals.allRefused.grouped) refused" }
        }
        if let name {
            return text + "; send the same again with --producer \(name): it goes on behind "
                + (through > 0 ? place(through) : "what is taken then")
        }
        guard unanswered > 0 else { return text + "; send the rest from \(place(through + 1))" }
        return text
            + "; the stage may still take \(unanswered.of("line")) from \(place(through + 1)) on, and would take "
            + "them twice if they were sent again (not where --producer is given from the first time on)"
    }

    private func place(_ number: UInt64) -> String {
        guard let (source, line) = origin(number) else { return "line \(number)" }
        return "\(source):\(line)"
    }

    private func origin(_ number: UInt64) -> (source: String, line: UInt64)? {
        guard let span = spans.last(where: { $0.first <= number }) else { return nil }
        return (span.source, span.line + number - span.first)
    }
}

extension LineSender.Totals {
    package static func += (sum: inout LineSender.Totals, totals: LineSender.Totals) {
        sum.lines += totals.lines
        sum.accepted += totals.accepted
        sum.refused += totals.refused
        sum.known += totals.known
        sum.taken += totals.taken
        sum.knownRefused = sum.knownRefused.flatMap { sum in totals.knownRefused.map { sum + $0 } }
    }

    /// One line for people: what was sent and what became of it.
    package var text: String {
        var parts = ["\(lines.of("line")) sent"]
        if refused > 0 { parts.append("\(refused.grouped) refused") }
        if known > 0 { parts.append("\(earlier) in an earlier run") }
        return parts.joined(separator: ", ")
    }

    private var earlier: String {
        guard let knownRefused else { return "\(known.grouped) taken or refused" }
        guard knownRefused > 0 else { return "\(known.grouped) taken" }
        let taken = known > knownRefused ? "\((known - knownRefused).grouped) taken and " : ""
        return taken + "\(knownRefused.grouped) refused"
    }
}
