import EventLog
import Events
import JSON
import PipelineRuntime

/// Compares only the events about one subject, in their order. Other events may differ and may shift the sequences.
struct FocusedComparison {
    private struct Output {
        var text: ExactText
        var mark: MachineOutput.Mark?
    }

    private let focus: ReplayFocus
    /// The machine's events about the subject that are not compared yet.
    private var outputs: [Output] = []
    /// Sequences of the input events about the subscription. An outcome does not name the subscription, but it names a
    /// push by its sequence.
    private var inputs: Set<UInt64> = []
    private(set) var compared = ComparedEvents()

    init(_ focus: ReplayFocus) { self.focus = focus }

    /// Notes which input events are about the subscription. Call before ``compare(_:with:isSkipped:)``.
    mutating func note(_ run: UpstreamFeed.Run) {
        guard focus.subject == .subscription else { return }
        for (sequence, line) in zip(run.first..., Lines(run.lines)) where focus.concerns(line) {
            inputs.insert(sequence)
        }
    }

    private func concerns(_ line: UnsafeRawBufferPointer) -> Bool {
        if focus.concerns(line) { return true }
        return !inputs.isEmpty && readEvent(line) { $0.natural(.push).map(inputs.contains) } ?? false
    }

    /// Compares the events about the subject in a batch of the log with those in the machine's output, and empties that
    /// output. Returns the first mismatch; nil if the machine made each of these events identically, or if the batch is
    /// skipped.
    ///
    /// - Parameter isSkipped: Whether the batch comes before the range to compare.
    mutating func compare(_ batch: EventLogReader.Batch, with output: MachineOutput, isSkipped: Bool)
        -> OutputComparison.Mismatch?
    {
        defer { output.removeAll() }
        collect(output)
        for (sequence, line) in zip(batch.header.firstSequence..., Lines(batch.body)) where concerns(line) {
            let recorded = ExactText(String(decoding: line, as: UTF8.self))
            let replayed = outputs.isEmpty ? nil : outputs.removeFirst()
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

    /// The first event about the subject that the machine made and the log lacks; nil if there is no such event.
    ///
    /// - Parameter next: The sequence that the log's next event would have.
    func surplus(_ next: UInt64) -> OutputComparison.Mismatch? {
        outputs.first.map { .init(sequence: next, recorded: nil, replayed: $0.text.string, mark: $0.mark) }
    }

    private mutating func collect(_ output: MachineOutput) {
        var (marks, events) = (output.marks[...], 0)
        for line in Lines(output.lines) {
            events += 1
            while let mark = marks.first, mark.events < events { marks.removeFirst() }
            if concerns(line) {
                outputs.append(Output(text: ExactText(String(decoding: line, as: UTF8.self)), mark: marks.first))
            }
        }
    }
}
