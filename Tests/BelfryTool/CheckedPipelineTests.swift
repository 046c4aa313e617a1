import PipelineKit
import Testing

@testable import BelfryTool

struct CheckedPipelineTests {
    @Test func `the file's mistakes and its stages' are reported together, in order`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file(
            "bad.yaml",
            """
            pipeline: bad
            stages:
              ingest: { bindd: x }
              match: { from: ingestt }
              coalesce: { from: match, window: fast }
              payload: { from: coalesce }
              mangle: { from: payload }
              deliver: { from: payload, transports: { apns: { use: filee }, web: { use: webhook, url: 7 } } }

            """)
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        let keys = error.errors.map(\.keyPath)
        #expect(keys.contains("stages.ingest.bindd"))
        #expect(keys.contains("stages.match.from"))
        #expect(keys.contains("stages.coalesce.window"))
        #expect(keys.contains("stages.mangle.stage"))
        #expect(keys.contains("stages.deliver.transports.apns.use"))
        #expect(keys.contains("stages.deliver.transports.web.url"))
        #expect(error.errors.map(\.line) == error.errors.map(\.line).sorted())
        #expect(Set(keys).count == keys.count)
    }

    @Test func `a file that is right has its stages`() throws {
        let folder = try TemporaryFolder()
        let checked = try CheckedPipeline(path: try folder.file("notes.yaml", fiveStages))
        try checked.checkKeys()
        #expect(try checked.stage(ofKind: "match").name == "match")
        #expect(try checked.stage("deliver").kind == "deliver")
    }

    @Test func `an unknown stage is answered with those there are`() throws {
        let folder = try TemporaryFolder()
        let checked = try CheckedPipeline(path: try folder.file("notes.yaml", fiveStages))
        let failure = #expect(throws: ToolFailure.self) { try checked.stage("matches") }
        #expect(failure?.status == .usage)
        #expect(failure?.message.hasSuffix("its stages: ingest, match, coalesce, payload, deliver") == true)
    }

    @Test func `several stages of a kind must be told apart`() throws {
        let folder = try TemporaryFolder()
        let two =
            fiveStages
            + "  second: { stage: deliver, from: payload, log: two, transports: { apns: { use: console } } }\n"
        let checked = try CheckedPipeline(path: try folder.file("two.yaml", two))
        let failure = #expect(throws: ToolFailure.self) { try checked.stage(ofKind: "deliver") }
        #expect(failure?.message.contains("--stage (deliver, second)") == true)
    }

    @Test func `no file, and a folder, are no input`() throws {
        let folder = try TemporaryFolder()
        for path in [folder.path + "/no.yaml", folder.path] {
            let failure = try #require(throws: ToolFailure.self) { _ = try CheckedPipeline(path: path) }
            #expect(failure.status == .noInput)
            #expect(failure.message.contains(path))
        }
    }

    @Test func `programs see each mistake as JSON`() {
        let error = SettingsError(
            file: "a.yaml", line: 3, column: 5, keyPath: "stages.x", reason: "say \"hi\"", hint: "did you mean y?")
        #expect(
            ValidateCommand.report([error]) == """
                {"valid":false,"errors":[{"file":"a.yaml","line":3,"column":5,"key":"stages.x",\
                "reason":"say \\"hi\\"","hint":"did you mean y?"}]}
                """)
    }
}
