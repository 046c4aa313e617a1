extension LogTime {
    /// The message for the operator when ``behind`` becomes zero or stops being zero.
    var text: String {
        if behind == .zero { return "the log's time is that of the machine's clock again" }
        let difference = Self.text(behind)
        guard behind > .zero else {
            return
                "the machine's clock jumped forward by \(difference); the log's time catches up by a minute each "
                + "second: if the clock is wrong, correct it now"
        }
        return
            "the machine's clock is \(difference) behind the log's time, which runs a tenth slower until the two "
            + "agree; the stage does not wait for that"
    }

    /// The difference as text for people. The unit is the largest of days, hours and minutes that fits into the
    /// difference at least twice; otherwise seconds.
    package static func text(_ difference: Duration) -> String {
        let seconds = abs(difference.components.seconds)
        for (unit, length) in [("days", Int64(86_400)), ("h", 3_600), ("min", 60)] where seconds >= 2 * length {
            return "\(seconds / length) \(unit)"
        }
        return "\(seconds) s"
    }
}
