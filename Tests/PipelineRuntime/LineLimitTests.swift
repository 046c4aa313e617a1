import PipelineKit
import Testing

@testable import PipelineRuntime

/// Tests the longest lines that a door accepts.
struct LineLimitTests {
    /// The code of a line's refusal. Nil if the line is accepted.
    private func code(_ start: String, bytes: Int, end: String = "\"}") -> String? {
        let line = Array(start.utf8) + [UInt8](repeating: 0x78, count: bytes - start.utf8.count - end.utf8.count)
        var events = EventReader.atDoor()
        var out = Outbox()
        (line + Array(end.utf8)).withUnsafeBytes { line in
            #expect(line.count == bytes)
            if let event = events.read(line, sequence: 1, into: &out) { out.pass(event) }
        }
        return out.takeRejections().first?.rejection.code
    }

    private static let modify = #"{"type":"records.modify","x":""#
    private static let save = #"{"type":"record.save","x":""#

    @Test func `a line has at most 1,000,000 bytes`() {
        #expect(code(Self.save, bytes: 1_000_000) == nil)
        #expect(code(Self.save, bytes: 1_000_001) == "json.too_long")
        #expect(code(#"{"x":""#, bytes: 1_000_001) == "json.too_long")
        #expect(code(Self.save, bytes: 5_000_000) == "json.too_long")
    }

    @Test func `a command for several records has at most 4,000,000 bytes`() {
        #expect(code(Self.modify, bytes: 4_000_000) == nil)
        #expect(code(Self.modify, bytes: 4_000_001) == "json.too_long")
    }

    @Test func `a syntax error in a line over 1,000,000 bytes is reported only if its command may be that long`() {
        #expect(code(Self.modify, bytes: 1_000_001, end: "\"") == "json.unexpected_end")
        #expect(code(Self.save, bytes: 1_000_001, end: "\"") == "json.too_long")
        #expect(code("x", bytes: 1_000_001, end: "x") == "json.too_long")
    }
}
