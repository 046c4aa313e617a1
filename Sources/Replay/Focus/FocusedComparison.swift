import EventLog
import Events
import JSON
import PipelineRuntime

/// Compares the events about one thing alone, in their order: what else is different moves their sequences, and does
/// not count.
///
/// An outcome names no subscription; it is about one where its push is.
struct FocusedComparison {
    private struct Given {
        var text: ExactText
        var mark: MachineOutput.Mark?
    }

    private let focus: ReplayFocus
    private var given: [Given] = []
    /// Input about the subscription.
    private var upstream: Set<UInt64> = []
    private(set) var compared = ComparedEvents()

    init(_ focus: ReplayFocus) { self.focus = focus }

    /// Takes note of input, before what comes of it is compared.
    mutating func note(_ run: UpstreamFeed.Run) {
        guard focus.subject == .subscription else { return }
        for (sequence, line) in zip(run.first..., Lines(run.lines)) where focus.concerns(line) {
            upstream.insert(sequence)
        }
    }

    private func concerns(_ line: UnsafeRawBufferPointer) -> Bool {
        if focus.concerns(line) { return true }
        guard !upstream.isEmpty else { return false }
        var parser = JSONParser(limits: EventReader.linkLimits)
        do throws(JSONError) {
            return try parser.parse(line).natural(.push).map(upstream.contains) ?? false
        } catch { return false }
    }

    /// Compares a batch of the log with what the machine has given so far, and empties the machine's output.
    ///
    /// - Parameter isSkipped: Whether the batch lies before the part that counts.
    mutating func compare(_ batch: EventLogReader.Batch, with output: MachineOutput, isSkipped: Bool)
        -> OutputComparison.Mismatch?
    {
        defer { output.removeAll() }
        take(output)
        for (sequence, line) in zip(batch.header.firstSequence..., Lines(batch.body)) where concerns(line) {
            let recorded = ExactText(String(decoding: line, as: UTF8.self))
            let replayed = given.isEmpty ? nil : given.removeFirst()
            if isSkipped { continue }
            if replayed?.text == recorded {
                compared.add(sequence...sequence)
                continue
            }
            return .init(
                sequence: sequence, recorded: recorded.string, replayed: replayed?.text.string,
                mark: replayed?.mark ?? output.marks.last)
        }
        return nil
    }

    /// What is left over when the log ends.
    ///
    /// - Parameter next: The sequence that the log's next event would have.
    func surplus(_ next: UInt64) -> OutputComparison.Mismatch? {
        given.first.map { .init(sequence: next, recorded: nil, replayed: $0.text.string, mark: $0.mark) }
    }

    private mutating func take(_ output: MachineOutput) {
        var (marks, events) = (output.marks[...], 0)
        for line in Lines(output.lines) {
            events += 1
            while let mark = marks.first, mark.events < events { marks.removeFirst() }
            if concerns(line) {
                given.append(Given(text: ExactText(String(decoding: line, as: UTF8.self)), mark: marks.first))
            }
        }
    }
}
