import Foundation
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ValidateCommandTests {
    @Test func `a right file says what it holds`() async throws {
        let notes = try Notes()
        let result = try await Command.run(["validate", notes.pipeline])
        #expect(result.status == 0)
        #expect(result.output.contains("is valid: pipeline notes, stages ingest, match from ingest"))
        #expect(result.errors == "")
    }

    @Test func `a secret whose file is not here is a warning`() async throws {
        let notes = try Notes()
        let hooked = try notes.read("notes.yaml").replacing(
            "{ use: console }", with: #"{ use: webhook, url: "https://example.com/", secret: {$file: none} }"#)
        let pipeline = try notes.write(hooked, to: "hooked.yaml")
        let text = try await Command.run(["validate", pipeline])
        #expect(text.status == 0)
        #expect(text.output.contains("is valid: "))
        let told =
            ": stages.deliver.transports.screen.secret: cannot open \(notes.folder)/none: No such file or directory"
        #expect(text.errors.hasPrefix("warning: \(pipeline):9:") && text.errors.hasSuffix(told + "\n"))
        let json = try await Command.run(["validate", "--json", pipeline])
        #expect(json.status == 0 && json.errors == "")
        #expect(json.output.hasPrefix(#"{"valid":true,"errors":[],"warnings":[{"file":"#))
    }

    @Test func `mistakes come with line and column, as text and as JSON`() async throws {
        let notes = try Notes(ingest: "{ bindd: x, door: 7 }")
        let text = try await Command.run(["validate", notes.pipeline])
        #expect(text.status == 78)
        #expect(text.output == "")
        #expect(
            text.errors.hasPrefix("\(notes.pipeline):5:13: stages.ingest.bindd: unknown key; did you mean \"bind\"?"))
        let json = try await Command.run(["validate", "--json", notes.pipeline])
        #expect(json.status == 78)
        #expect(json.errors == "")
        #expect(json.output.hasPrefix("{\"valid\":false,\"errors\":[{\"file\":"))
        #expect(json.output.contains("\"line\":5,\"column\":13,\"key\":\"stages.ingest.bindd\""))
    }
}
