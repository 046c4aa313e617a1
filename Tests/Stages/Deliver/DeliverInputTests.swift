import PipelineKit
import Testing

@testable import Deliver

@Suite struct DeliverInputTests {
    @Test(arguments: [("match", "coalesce"), ("notification", "payload"), ("record.save", "match")])
    func `an event for an earlier stage becomes a dead letter that names the missing stage`(
        type: String, stage: String
    ) throws {
        var harness = try DeliverHarness()
        try harness.feed(#"{"type":"\#(type)"}"#)
        #expect(harness.rejections.map(\.code) == ["event.unfinished"])
        #expect(harness.rejections.first?.reason.contains("put a \(stage) stage") == true)
    }

    @Test(arguments: ["container", "environment", "user", "device", "transport", "token"])
    func `a registration with a missing member becomes a dead letter`(name: String) throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac").replacing("\"\(name)\":", with: "\"other\":"))
        #expect(harness.rejections.map(\.code) == ["field.missing"])
        #expect(harness.rejections.map(\.path) == [name])
    }

    @Test(arguments: ["container", "environment", "user", "notificationID", "headers", "payload", "causes"])
    func `a push with a missing member becomes a dead letter and changes nothing`(name: String) throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push().replacing("\"\(name)\":", with: "\"other\":"))
        #expect(harness.rejections.map(\.path) == [name])
        #expect(harness.deliveries.isEmpty && harness.outcomes.isEmpty)
    }

    @Test(arguments: [
        (#""payload":{"#, #""payload":7,"was":{"#, "field.type", "payload"),
        (#""user":"_alice""#, #""user":"""#, "field.value", "user"),
        (#""user":"_alice""#, #""user":"\u0000""#, "field.value", "user"),
        (#""causes":["#, #""causes":{},"was":["#, "field.type", "causes"),
        (#""apns-priority""#, #""apns-topic""#, "field.unexpected", "headers.apns-topic"),
        (#""headers""#, #""origin":1,"headers""#, "field.type", "origin"),
    ])
    func `an invalid push becomes a dead letter with code and path`(
        good: String, bad: String, code: String, path: String
    ) throws {
        var harness = try DeliverHarness()
        try harness.feed(push().replacing(good, with: bad))
        #expect(harness.rejections.map(\.code) == [code])
        #expect(harness.rejections.map(\.path) == [path])
    }

    @Test func `the rejection of a registration does not contain its token`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac", token: "secret").replacing("\"device\":", with: "\"other\":"))
        #expect(harness.rejections.map { $0.reason.contains("secret") } == [false])
    }

    @Test func `a push may have empty headers`() throws {
        var harness = try DeliverHarness()
        let event = push().replacing(/"headers":\{[^}]*\}/, with: #""headers":{}"#)
        try harness.feed(register("mac", topic: nil), event)
        let headers = try harness.deliveries.map { try member("headers", of: $0.text) ?? "" }
        #expect(headers.allSatisfy { $0.wholeMatch(of: /\{"apns-id":"[0-9a-f-]{36}"\}/) != nil } && headers.count == 1)
    }

    @Test
    func `the error for missing transports, or for a transport without the key 'use', shows what to write`() throws {
        for text in ["other: 1", "transports: {}", "transports: {apns: {path: x}}"] {
            let error = #expect(throws: PipelineFileError.self) {
                try SettingsReader(text: text, file: "p.yaml").decode(DeliverSettings.self)
            }
            #expect(error?.description.contains("apns: { use: file, path: pushes.ndjson }") == true)
        }
    }

    @Test
    func `transports keep the order of the file, and the key 'use' does not count as an unknown setting`() throws {
        let text = "transports: {b: {use: webhook, url: x}, a: {use: console}}"
        let settings = try SettingsReader(text: text, file: "p.yaml").decode(DeliverSettings.self)
        let bindings = DeliverStage.transports(of: settings)
        #expect(bindings.map(\.name) == ["b", "a"])
        #expect(bindings.map(\.kind) == ["webhook", "console"])
        #expect(throws: Never.self) { try bindings[1].settings.finish() }
        #expect(throws: SettingsError.self) { try bindings[0].settings.finish() }
    }
}
