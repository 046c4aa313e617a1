import PipelineRuntime
import Synchronization
import Testing
import Time

@testable import BelfryTool

struct EventPrinterTests {
    private func printed(_ form: EventPrinter.Form, _ lines: String, isColoured: Bool = false) throws -> String {
        var output: [UInt8] = []
        try Array(lines.utf8).withUnsafeBytes { bytes in
            let printer = EventPrinter(form, isColoured: isColoured) { output += $0 }
            try printer.print(Lines(bytes), first: 17, now: Instant(microseconds: 1_000_000))
        }
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `programs get sequence, time and the event's own bytes`() throws {
        #expect(
            try printed(.envelopes, "{\"type\": \"a\"}\n{\"x\":1}\n") == """
                {"sequence":17,"now":"1970-01-01T00:00:01Z","event":{"type": "a"}}
                {"sequence":18,"now":"1970-01-01T00:00:01Z","event":{"x":1}}

                """)
    }

    @Test func `without sequence and time, events are printed as they are in the log`() throws {
        #expect(try printed(.events, "{\"type\": \"a\"}\n{}\n") == "{\"type\": \"a\"}\n{}\n")
    }

    @Test func `people get one line with the important members`() throws {
        let change = """
            {"type":"record.save","owner":"_alice","record":{"recordName":"n1","recordType":"Note"},"change":"update"}

            """
        #expect(
            try printed(.people, change)
                == "      17  1970-01-01T00:00:01Z  record.save  change=update  recordType=Note  recordName=n1  owner=_alice\n"
        )
    }

    @Test func `colours do not change the text`() throws {
        let plain = try printed(.people, "{\"type\":\"push\",\"user\":\"_a\"}\n")
        let coloured = try printed(.people, "{\"type\":\"push\",\"user\":\"_a\"}\n", isColoured: true)
        #expect(coloured.contains("\u{1B}[36mpush\u{1B}[0m"))
        #expect(coloured.replacing(/\u{1B}\[\d+m/, with: "") == plain)
    }

    @Test func `a user's text cannot move the terminal's cursor`() throws {
        let text = try printed(.people, "{\"type\":\"push\",\"user\":\"\\u001b[2Jx\\u202e\\n\"}\n")
        #expect(text.contains("user=\\u{1b}[2Jx\\u{202e}\\u{a}"))
    }

    @Test func `an event that is not JSON is marked`() throws {
        #expect(try printed(.people, "nope\n").contains("not JSON"))
    }
}
