import JSON

/// The longest time that a stage was away from its sockets for one cause.
struct StagePause: Hashable, Sendable {
    var cause: String
    var milliseconds: Double
    /// What of it the stage had a processor for.
    var processorMilliseconds: Double

    init?(_ json: JSONValue) {
        guard let cause = json.text("cause"), let whole = json.natural("microseconds"),
            let processor = json.natural("processorMicroseconds")
        else { return nil }
        self.cause = cause
        milliseconds = Double(whole) / 1_000
        processorMilliseconds = Double(processor) / 1_000
    }

    /// For people: `snapshot 12.5 ms`.
    var text: String {
        let times =
            "\(milliseconds.text(decimals: 1)) ms (\(processorMilliseconds.text(decimals: 1)) ms of a processor)"
        return "\(cause) \(times)"
    }

    var report: ReportValue {
        .object([
            "cause": .text(cause), "milliseconds": .number(milliseconds),
            "processorMilliseconds": .number(processorMilliseconds),
        ])
    }
}
