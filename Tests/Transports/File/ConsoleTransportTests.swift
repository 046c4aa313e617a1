import PipelineKit
import Synchronization
import Testing

@testable import TransportFile

@Suite struct ConsoleTransportTests {
    private func show(_ lines: [String], settings: String = "format: text") async throws -> [String] {
        let shown = ShownLines()
        let settings = try SettingsReader(text: settings, file: "p.yaml").decode(ConsoleTransport.Settings.self)
        let transport = try ConsoleTransport(
            settings, context: TransportContext(name: "console") { shown.append($0) })
        try await transport.open()
        let pushes = lines.map { Delivery(id: .init(push: 1, device: "mac"), transport: "c", line: Array($0.utf8)) }
        #expect(await transport.deliver(pushes) == pushes.map { TransportAnswer($0.id, .accepted) })
        await transport.close()
        return shown.lines
    }

    private func line(_ aps: String, headers: String = "{}", ck: String = #""qry":{"sid":"feed"}"#) -> String {
        #"{"notificationID":"n","user":"_alice","device":"mac","transport":"c","token":"secret","headers":\#(headers),"#
            + #""payload":{"aps":\#(aps),"ck":{\#(ck)}},"causes":[]}"#
    }

    @Test func `the line of a push shows its user, device, texts, subscription, badge and collapse ID`() async throws {
        let full = line(
            #"{"alert":{"title":"Notes","body":"Added"},"badge":7}"#, headers: #"{"apns-collapse-id":"n1"}"#)
        #expect(
            try await show([full]) == [
                #"_alice on mac: "Notes", "Added" (query subscription feed, badge 7, collapses as n1)"#
            ])
    }

    @Test(arguments: [
        (#"{"content-available":1}"#, "no alert"), (#"{"alert":"Hi"}"#, #""Hi""#), (#"{"alert":{}}"#, "no alert"),
        (#"{"alert":{"title-loc-key":"T","loc-key":"K","loc-args":["a","b"]}}"#, #"T(), K("a", "b")"#),
        (#"{"alert":{"title":"A","subtitle":"B","body":"C"}}"#, #""A", "B", "C""#),
    ])
    func `an alert's texts are shown; without texts, the line says no alert`(aps: String, shown: String) async throws {
        #expect(try await show([line(aps)]) == ["_alice on mac: \(shown) (query subscription feed)"])
    }

    @Test func `the kind of the subscription follows from the payload`() async throws {
        let payloads = [#""fet":{"sid":"z"}"#, #""met":{"sid":"d"}"#, ""]
        let shown = try await show(payloads.map { line("{}", ck: $0) })
        #expect(
            shown == [
                "_alice on mac: no alert (zone subscription z)", "_alice on mac: no alert (database subscription d)",
                "_alice on mac: no alert",
            ])
    }

    @Test func `an alert cannot move the terminal's cursor, start a line or reverse the text`() async throws {
        let shown = try await show([line(#"{"alert":"a\u001b[2J\nb\u202Ec\u009Bd 👩‍💻"}"#)])
        #expect(
            shown == [#"_alice on mac: "a\u{1b}[2J\u{a}b\u{202e}c\u{9b}d 👩‍💻" (query subscription feed)"#])
    }

    @Test func `the format json shows the line of a push unchanged`() async throws {
        #expect(try await show([line("{}")], settings: "format: json") == [line("{}")])
    }

    @Test func `the format text does not show device tokens`() async throws {
        #expect(try await show([line("{}"), "{}", "no json"]).allSatisfy { !$0.contains("secret") })
    }

    @Test func `an unknown format is refused`() {
        #expect(throws: PipelineFileError.self) {
            try SettingsReader(text: "format: xml", file: "p.yaml").decode(ConsoleTransport.Settings.self)
        }
    }
}

private final class ShownLines: Sendable {
    private let state = Mutex<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func append(_ line: String) { state.withLock { $0.append(line) } }
}
