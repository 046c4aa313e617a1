import PipelineRuntime

/// Sends lines to a door, and reports refused lines with source, line number and reason. Belongs to one thread.
package final class LineSender {
    package struct Totals: Equatable {
        /// The lines that this run sent to the door, or refused because they were too long to send.
        package var lines: UInt64 = 0
        package var accepted: UInt64 = 0
        package var refused: UInt64 = 0
        /// The lines that this run skipped, because the door has them from an earlier run.
        package var known: UInt64 = 0
        /// How many of the skipped lines were refused; nil if that number is not known.
        package var knownRefused: UInt64? = 0
        /// The source and number of each accepted line. Empty unless ``LineSender/tracksLines`` is set.
        package var acceptedLines = AcceptedLines()

        package init() {}

        /// The refused lines of this run and, if their number is known, of earlier runs.
        package var allRefused: UInt64 { refused + (knownRefused ?? 0) }
    }

    /// A subscription that a line saved, with the source and number of this line.
    package struct Saved {
        package var source: String
        package var line: UInt64
        package var answer: Producer.Saved
    }

    private let producer: Producer
    private let reader: LineReader
    /// Gets each message about refused lines, lost answers and warnings.
    private let reportLine: (String) -> Void
    /// How many refusals are reported; the others are only counted. Nil: all.
    private let refusalsMax: Int?
    private var refusals = 0
    /// The sent lines. After an answer, the spans before the span with the last answered line are removed.
    private var spans: [LineSpan] = []
    /// The number that the door will give the next line that is sent.
    private var next: UInt64 = 1
    private var linesToSkip: UInt64 = 0
    private var skippedChecksum = LineChecksum()
    /// The sources of the blocks so far, in order.
    private var sources: [String] = []
    private var hasGreeted = false
    /// The door's number of the last line that it has accepted or refused, including lines whose answers were lost.
    private var through: UInt64 = 0
    package private(set) var totals = Totals()
    /// Whether the sender stopped at a ``LineReader/restartLine``.
    package private(set) var stoppedAtRestart = false
    private var lastAnswer = ContinuousClock.now
    /// The lines that the door accepted or refused, but whose answers were lost when it restarted: their number, and
    /// the places of the first and of the last of them. Nil if no answer was lost.
    private var lostAnswers: (count: UInt64, from: String, through: String)?
    /// ``Producer/refusedWithoutAnswer`` when this sender was made.
    private var refusedWithoutAnswerBefore: UInt64?
    /// Whether to fill ``Totals/acceptedLines``, which needs some bytes for each block and each refusal.
    package var tracksLines = false
    /// Called repeatedly until the door answers the greeting. After this, called before each block is sent and before
    /// each wait for answers. Sending stops when `mayContinue` returns false.
    package var mayContinue: (Totals) -> Bool = { _ in true }
    /// Called for each saved subscription, in order. The sender itself reports the subscription's warnings.
    package var onSaved: (Saved) -> Void = { _ in }

    package convenience init(
        _ producer: Producer, _ sources: [InputSource], refusalsMax: Int? = LineSender.refusalsMax,
        reportLine: @escaping (String) -> Void
    ) {
        self.init(producer, LineReader(sources), refusalsMax: refusalsMax, reportLine: reportLine)
    }

    package init(
        _ producer: Producer, _ reader: LineReader, refusalsMax: Int? = LineSender.refusalsMax,
        reportLine: @escaping (String) -> Void
    ) {
        self.producer = producer
        self.reader = reader
        self.refusalsMax = refusalsMax
        self.reportLine = reportLine
        producer.onAnswer = { [unowned self] in receive($0) }
        producer.onLostAnswers = { [unowned self] in receive($0) }
        refusedWithoutAnswerBefore = producer.refusedWithoutAnswer
    }

    /// A terminal shows the first refusals; a file or a pipe gets all.
    package static var refusalsMax: Int? { StandardError.isTerminal ? 20 : nil }

    /// Sends all lines, or the lines before a ``LineReader/restartLine``. Returns when the door has answered them, or
    /// when ``mayContinue`` returns false.
    ///
    /// - Parameters:
    ///   - silenceMax: How long the door may be silent while an answer is due.
    ///   - resumes: Whether to skip the lines that the door already has from this producer.
    /// - Throws: ``LinkError`` if the door does not answer, or refuses the connection or the producer; ``ToolFailure``
    ///   if an input cannot be read, or if the inputs do not begin with the lines that the door has; `ZMQError` if the
    ///   socket fails.
    package func run(silenceMax: Duration, resumes: Bool) throws -> Totals {
        guard let known = try producer.greet(timeout: silenceMax, while: { mayContinue(totals) }) else { return totals }
        linesToSkip = resumes ? known : 0
        next = known + 1
        through = known
        hasGreeted = true
        lastAnswer = .now
        do {
            while mayContinue(totals), !isAtEnd || !producer.isDone { try step(silenceMax) }
        } catch {
            reportLostAnswers()
            throw error
        }
        reportLostAnswers()
        if isAtEnd, linesToSkip > 0 { throw differentInputFailure() }
        return totals
    }

    private var isAtEnd: Bool { stoppedAtRestart || reader.isAtEnd }
    private var wantsMore: Bool { producer.hasRoom && !stoppedAtRestart }

    private func step(_ silenceMax: Duration) throws {
        if wantsMore, let block = try reader.next() {
            try send(block)
            return try producer.pump(wait: .zero)
        }
        if producer.isDone { lastAnswer = .now }
        guard .now - lastAnswer < silenceMax else { throw producer.silence(waited: silenceMax) }
        try producer.pump(wait: .milliseconds(100), input: wantsMore ? reader.awaitedDescriptor : nil)
    }

    private func send(_ block: LineReader.Block) throws {
        if block.isRestart {
            stoppedAtRestart = true
            return
        }
        if sources.last != block.source { sources.append(block.source) }
        if let bytes = block.tooLong { return refuseTooLong(block, bytes: bytes) }
        guard let block = try afterKnown(block) else { return }
        totals.lines += UInt64(block.count)
        let span = LineSpan(first: next, count: UInt64(block.count), source: block.source, line: block.firstLine)
        spans.append(span)
        if tracksLines { totals.acceptedLines.add(span) }
        next += span.count
        try producer.send(block.bytes, count: block.count)
    }

    private func refuseTooLong(_ block: LineReader.Block, bytes: Int) {
        totals.lines += 1
        totals.refused += 1
        let limits = "\(DoorLimits.lineBytesMax), or of \(DoorLimits.modifyBytesMax) for records.modify"
        reportRefusal("\(block.source):\(block.firstLine): \(bytes) bytes, over the limit of \(limits) (json.too_long)")
    }

    /// The part of a block that the door does not have from an earlier run; nil if the door has the whole block.
    ///
    /// - Throws: ``ToolFailure`` if the skipped lines differ from the lines that the door has.
    private func afterKnown(_ block: LineReader.Block) throws(ToolFailure) -> LineReader.Block? {
        guard linesToSkip > 0 else { return block }
        let count = min(linesToSkip, UInt64(block.count))
        let end = LineSender.end(ofLine: count, in: block.bytes)
        block.bytes[..<end].withUnsafeBytes { skippedChecksum.add($0) }
        linesToSkip -= count
        if linesToSkip == 0, let checksum = producer.checksumAtWelcome, checksum != skippedChecksum {
            throw differentInputFailure()
        }
        totals.known += count
        let refused = producer.refusedAtWelcome
        // The door knows how many lines were refused, but not which lines.
        totals.knownRefused = linesToSkip == 0 || refused == 0 ? refused : nil
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

    private func differentInputFailure() -> ToolFailure {
        let known = producer.linesAtWelcome.of("line")
        let input = sources.count == 1 ? sources[0] : "the input"
        return ToolFailure(
            .badData,
            """
            \(input) does not begin with the \(known) that producer \(producer.name.printable) sent in earlier \
            runs. Nothing was sent; to send \(input), use belfry send with another --producer name, or without \
            --producer
            """)
    }

    private func receive(_ answer: Producer.Answer) {
        lastAnswer = .now
        through = max(through, answer.through)
        totals.accepted += UInt64(answer.accepted)
        totals.refused += UInt64(answer.refused)
        if tracksLines { totals.acceptedLines.add(answer) }
        for refusal in answer.refusals {
            reportRefusal(text(refusal.line, "", refusal.path, refusal.reason, refusal.code))
        }
        let unnamed = answer.refused - answer.refusals.count
        if unnamed > 0 { reportRefusal("\(unnamed.of("more line")) refused") }
        for saved in answer.saved { report(saved) }
        let unsaid = answer.warnings - answer.saved.reduce(0) { $0 + $1.subscription.warnings.count }
        if unsaid > 0 { reportLine(unsaid.of("more warning")) }
        while spans.count > 1, spans[1].first <= answer.through { spans.removeFirst() }
    }

    private func reportRefusal(_ text: @autoclosure () -> String) {
        refusals += 1
        guard let refusalsMax, refusals > refusalsMax else { return reportLine(text()) }
        guard refusals == refusalsMax + 1 else { return }
        reportLine("… and more refused lines; `2> FILE` writes all these messages to a file")
    }

    private func receive(_ lost: Producer.LostAnswers) {
        lastAnswer = .now
        through = lost.lines.upperBound
        totals.accepted += UInt64(lost.lines.count)
        lostAnswers = (
            (lostAnswers?.count ?? 0) + UInt64(lost.lines.count), lostAnswers?.from ?? place(lost.lines.lowerBound),
            place(through)
        )
        if tracksLines { totals.acceptedLines.addLinesWithLostAnswers(UInt64(lost.lines.count)) }
    }

    private func reportLostAnswers() {
        guard let lostAnswers else { return }
        let refused = producer.refusedWithoutAnswer.flatMap { count in refusedWithoutAnswerBefore.map { count - $0 } }
        guard refused != 0 else { return }
        totals.accepted -= refused ?? 0
        totals.refused += refused ?? 0
        let which = "\(lostAnswers.from) to \(lostAnswers.through): \(lostAnswers.count.of("line"))"
        let number = refused.map(\.grouped) ?? "an unknown number"
        reportLine(
            "\(which) had no answer, because the ingest stage restarted; it refused \(number) of these lines. Compare "
                + "them with the changes log, correct the refused lines and send only these again")
    }

    private func report(_ saved: Producer.Saved) {
        for warning in saved.subscription.warnings {
            reportLine(text(saved.line, "warning: ", warning.path, warning.reason, warning.code))
        }
        let (source, line) = spans.place(of: saved.line) ?? ("line", saved.line)
        onSaved(Saved(source: source, line: line, answer: saved))
    }

    /// A reason with one of these codes describes only one place in the line. So the message adds that the line is not
    /// JSON.
    private static let syntaxCodes: Set = ["json.unexpected_byte", "json.unexpected_end", "json.trailing_bytes"]

    private func text(_ line: UInt64, _ kind: String, _ path: String, _ reason: String, _ code: String) -> String {
        let path = path.isEmpty ? "" : "\(path.printable): "
        // If a predicate is wrong, the reason has two more lines: the predicate, and a caret below the error.
        let lines = reason.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).withoutControls }
        let notJSON = LineSender.syntaxCodes.contains(code) ? "not JSON: " : ""
        let head = "\(place(line)): \(kind)\(path)\(notJSON)\(lines.first ?? "") (\(code))"
        return ([head] + lines.dropFirst().map { "    " + $0 }).joined(separator: "\n")
    }

    /// The message when sending ended early: how many lines were accepted, and how to continue.
    package func progress(producer name: String?) -> String {
        let done = totals.accepted + totals.known
        let unanswered = hasGreeted ? next - 1 - through : 0
        guard hasGreeted, done + totals.refused + unanswered > 0 else { return "no line was accepted yet" }
        let accepted = done - (totals.knownRefused ?? 0)
        var text = done + totals.refused == 0 ? "no line was answered yet" : ""
        if text.isEmpty {
            text = "\(accepted.of("line")) accepted"
            if totals.knownRefused == nil { text += " or refused" }
            if totals.allRefused > 0 { text += ", \(totals.allRefused.grouped) refused" }
        }
        if let name {
            return text + "; send the same input again with --producer \(name): it continues after "
                + (through > 0 ? place(through) : "the last line that the door accepted or refused")
        }
        guard unanswered > 0 else { return text + "; send the rest from \(place(through + 1)) on" }
        return text
            + "; the stage may still accept \(unanswered.of("line")) from \(place(through + 1)) on. If you send them "
            + "again, they may be accepted twice. Next time, use --producer from the first run on: then no line is "
            + "accepted twice"
    }

    private func place(_ number: UInt64) -> String {
        spans.place(of: number).map { "\($0.source):\($0.line)" } ?? "line \(number)"
    }
}

extension LineSender.Totals {
    package static func += (sum: inout LineSender.Totals, totals: LineSender.Totals) {
        sum.lines += totals.lines
        sum.accepted += totals.accepted
        sum.refused += totals.refused
        sum.known += totals.known
        sum.acceptedLines += totals.acceptedLines
        sum.knownRefused = sum.knownRefused.flatMap { sum in totals.knownRefused.map { sum + $0 } }
    }

    /// One line for people.
    package var text: String {
        var parts = ["\(lines.of("line")) sent"]
        if refused > 0 { parts.append("\(refused.grouped) refused") }
        if known > 0 { parts.append("\(earlier) in an earlier run") }
        return parts.joined(separator: ", ")
    }

    private var earlier: String {
        guard let knownRefused else { return "\(known.grouped) accepted or refused" }
        guard knownRefused > 0 else { return "\(known.grouped) accepted" }
        let accepted = known > knownRefused ? "\((known - knownRefused).grouped) accepted and " : ""
        return accepted + "\(knownRefused.grouped) refused"
    }
}
