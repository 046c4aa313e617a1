import PipelineKit
import Testing

@testable import BelfryTool
@testable import StageTool

@Suite struct ReloadCheckTests {
    private static let sample = """
        pipeline: notes
        data: data
        log: {home: jetstream, servers: ["nats://n1:4222"]}
        hosts:
          a: {address: 127.0.0.1}
          b: {address: 127.0.0.2}
        stages:
          ingest: {bind: "tcp://127.0.0.1:7401", door: "tcp://127.0.0.1:7402"}

        """

    @Test(arguments: [
        ("b: {address: 127.0.0.2}", "b: {address: 127.0.0.3}", "6:16: hosts.b.address"),
        ("b: {address: 127.0.0.2}", "b: {address: 127.0.0.2, data: other}", "6:33: hosts.b.data"),
        ("  b: {address: 127.0.0.2}\n", "", "4:1: hosts.b"),
        ("  b: {", "  c: {address: 127.0.0.3}\n  b: {", "6:3: hosts.c"),
        ("[\"nats://n1:4222\"]", "[\"nats://n2:4222\"]", "3:33: log.servers"),
        ("log: {", "log: {replicas: 1, ", "3:17: log.replicas"),
        ("data: data", "data: other", "2:7: data"),
        ("stages:\n", "api: {}\nstages:\n", "7:1: api"),
    ])
    func `a change that needs a restart is refused at its place in the file`(
        old: String, new: String, place: String
    ) throws {
        let folder = try TemporaryFolder()
        let running = try CheckedPipeline(path: folder.file("p.yaml", Self.sample)).file
        let next = try CheckedPipeline(path: folder.file("p.yaml", Self.sample.replacing(old, with: new)))
        let error = #expect(throws: PipelineFileError.self) { try next.checkReload(from: running) }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("\(folder.path)/p.yaml:\(place): "))
        #expect(text.hasSuffix("; restart belfry up to change this"))
    }
}
