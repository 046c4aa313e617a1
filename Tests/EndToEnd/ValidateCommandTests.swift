import Foundation
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ValidateCommandTests {
    @Test func `a right file says what it holds`() async throws {
        let notes = try Notes()
        let result = try await Program.run("belfry", ["validate", notes.pipeline])
        #expect(result.status == 0)
        #expect(result.output.contains("is valid: pipeline notes, stages ingest, match from ingest"))
        #expect(result.errors == "")
    }

    @Test func `mistakes come with line and column, as text and as JSON`() async throws {
        let notes = try Notes(ingest: "{ bindd: x, door: 7 }")
        let text = try await Program.run("belfry", ["validate", notes.pipeline])
        #expect(text.status == 78)
        #expect(text.output == "")
        #expect(
            text.errors.hasPrefix("\(notes.pipeline):5:13: stages.ingest.bindd: unknown key; did you mean \"bind\"?"))
        let json = try await Program.run("belfry", ["validate", "--json", notes.pipeline])
        #expect(json.status == 78)
        #expect(json.errors == "")
        #expect(json.output.hasPrefix("{\"valid\":false,\"errors\":[{\"file\":"))
        #expect(json.output.contains("\"line\":5,\"column\":13,\"key\":\"stages.ingest.bindd\""))
    }
}
