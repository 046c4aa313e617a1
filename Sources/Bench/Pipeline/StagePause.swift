import JSON

/// The longest time that a stage did not look at its sockets, for one cause.
struct StagePause: Hashable, Sendable {
    var cause: String
    var milliseconds: Double
    /// The part of this time in which the stage ran on a processor.
    var processorMilliseconds: Double

    init?(_ json: JSONValue) {
        guard let cause = json.text("cause"), let whole = json.natural("microseconds"),
            let processor = json.natural("processorMicroseconds")
        else { return nil }
        self.cause = cause
        milliseconds = Double(whole) / 1_000
        processorMilliseconds = Double(processor) / 1_000
    }

    /// `snapshot 12.5 ms (11.0 ms on a processor)`.
    var text: String {
        "\(cause) \(milliseconds.text(decimals: 1)) ms (\(processorMilliseconds.text(decimals: 1)) ms on a processor)"
    }

    var report: ReportValue {
        .object([
            "cause": .text(cause), "milliseconds": .number(milliseconds),
            "processorMilliseconds": .number(processorMilliseconds),
        ])
    }
}
