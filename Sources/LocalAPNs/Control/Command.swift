import JSON

/// Whether tokens that a key has signed are accepted.
package enum KeyState: String, Sendable, CaseIterable { case active, revoked }

/// A command to a running server: a JSON object with one key.
package enum Command: Sendable {
    /// Moves the clock by this many milliseconds.
    case clock(Int64)
    case device(Device)
    /// Rejects the tokens of a key, or accepts them again.
    case key(id: String, KeyState)
    case script([ScriptLine])
    /// Allows this many open streams on each connection, also on later connections. A client without a certificate
    /// still gets one stream at most until it has sent a valid token.
    case streams(Int)
    /// Sends GOAWAY on one connection, or on all.
    case goAway(GoAway, connection: Int?)
    /// Closes all connections without GOAWAY.
    case drop

    package static func read(_ text: String) throws(FieldError) -> Command {
        try Document.read(text) { (json) throws(FieldError) in
            var fields = try FieldReader(json)
            let command = try command(&fields)
            try fields.finish()
            guard let command else {
                throw FieldError("", "the object has no command: write one key, such as \"clock\"")
            }
            return command
        }
    }

    private static func command(_ fields: inout FieldReader) throws(FieldError) -> Command? {
        var found: [Command] = []
        if let text = try fields.string("clock") { found.append(.clock(try clockStep(text))) }
        if var device = try fields.nested("device") { found.append(.device(try Device(&device))) }
        if var key = try fields.nested("key") { found.append(try Self.key(&key)) }
        if let script = fields.value("script") { found.append(.script(try lines(script))) }
        if let streams = try fields.integer("streams", 0...2_147_483_647) { found.append(.streams(Int(streams))) }
        if var goAway = try fields.nested("goaway") {
            let connection = try goAway.count("connection")
            found.append(.goAway(try GoAway(&goAway), connection: connection))
        }
        if let drop = try fields.string("drop") {
            guard drop == "connections" else {
                throw fields.error("drop", "expected \"connections\", found \(drop.debugDescription)")
            }
            found.append(.drop)
        }
        guard found.count < 2 else {
            throw FieldError("", "the object has \(found.count) commands: send each in an object of its own")
        }
        return found.first
    }

    private static func key(_ fields: inout FieldReader) throws(FieldError) -> Command {
        guard let id = try fields.string("id") else { throw fields.error("id", "the ID of the key is missing") }
        guard let state: KeyState = try fields.choice("state") else {
            throw fields.error("state", "the state is missing: write \"active\" or \"revoked\"")
        }
        try fields.finish()
        return .key(id: id, state)
    }

    private static func lines(_ script: JSONValue) throws(FieldError) -> [ScriptLine] {
        guard script.isArray else { return [try ScriptLine(script, at: "script")] }
        var lines: [ScriptLine] = []
        for (index, line) in script.elements.enumerated() { lines.append(try ScriptLine(line, at: "script[\(index)]")) }
        return lines
    }

    /// Reads a step of the clock such as `+25m`, `-10s`, `+250ms`, `+2h` or `+1d`.
    ///
    /// - Returns: The step in milliseconds.
    private static func clockStep(_ text: String) throws(FieldError) -> Int64 {
        let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        for (unit, milliseconds) in units where text.hasSuffix(unit) {
            guard text.first == "+" || text.first == "-" else { continue }
            guard let number = WholeNumber.value(of: String(text.dropFirst().dropLast(unit.count))) else { continue }
            guard number <= 100_000 else { break }
            return (text.first == "-" ? -1 : 1) * number * milliseconds
        }
        throw FieldError(
            "clock",
            "expected a step such as \"+25m\": a sign, a number up to 100000, and ms, s, m, h or d; "
                + "found \(text.debugDescription)")
    }
}
