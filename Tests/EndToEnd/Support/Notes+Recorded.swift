import JSON
import Testing

extension Notes {
    var logs: String { folder + "/logs" }

    /// Logs of five notes, one second apart. Each note replaces the held notification of the note before, so only the
    /// fifth is pushed, with a badge.
    static func recorded() async throws -> Notes {
        let notes = try Notes()
        try notes.write(
            notes.read("notes.yaml").replacing("window: 0s", with: "policy: debounce, window: 2s"), to: "notes.yaml")
        let info = #"{"alertBody":"A note","shouldBadge":true,"collapseIDKey":"notes"}"#
        let phone = Notes.phone().replacing(#"{"alertBody":"A note"}"#, with: info)
        try await notes.record(phone)
        return notes
    }

    /// Records two commands and five changes. The changes get the sequences 3 to 7.
    ///
    /// - Parameters:
    ///   - phone: The two commands, as in ``phone(transport:)``.
    ///   - seconds: The time between two changes.
    func record(_ phone: String = Notes.phone(), seconds: Int = 1) async throws {
        let changes = (1..<6).map { (number: Int) in Notes.change("n\(number)", second: number * seconds) }.joined()
        let result = try await Program.run("belfry", ["run", pipeline, "--logs", logs], input: phone + changes)
        #expect(result.status == 0, "\(result)")
    }
}

extension Program.Result {
    /// Whether the output has at least one line, and every line is a JSON object and ends with a line feed.
    var isNDJSON: Bool {
        var parser = JSONParser()
        return output.hasSuffix("\n")
            && output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().allSatisfy { line in
                Array(line.utf8).withUnsafeBytes { bytes in
                    do throws(JSONError) { return try parser.parse(bytes).isObject } catch { return false }
                }
            }
    }
}
