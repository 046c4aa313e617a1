extension Duration {
    /// Text for people: `250 ms`, `1.5 s`, `2 min`.
    package var text: String {
        let (seconds, attoseconds) = components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        if milliseconds % 60_000 == 0 { return "\(milliseconds / 60_000) min" }
        return milliseconds % 1_000 == 0
            ? "\(milliseconds / 1_000) s" : "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
    }
}

/// A number of bytes for people: `950 B`, `1.2 MB`.
package func byteText(_ bytes: UInt64) -> String {
    guard bytes >= 1_000 else { return "\(bytes) B" }
    var value = Double(bytes)
    var unit = "B"
    for larger in ["kB", "MB", "GB", "TB"] where unit == "B" || value >= 999.5 {
        value /= 1_000
        unit = larger
    }
    let tenths = value < 99.95 ? Int((value * 10).rounded()) : 10 * Int(value.rounded())
    return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
}
