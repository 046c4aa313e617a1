import EventLog
import Testing

@testable import PipelineKit

@Suite struct DataSettingsTests {
    private func file(_ data: String) throws -> PipelineFile {
        try PipelineFile.parse(
            "pipeline: p\n\(data)\nstages: {ingest: {}}\n", file: "/srv/p.yaml", registry: Registry())
    }

    @Test(
        arguments: [
            ("", "/srv/.belfry/p", 0o700), ("data: x", "/srv/x", 0o700), ("data: {}", "/srv/.belfry/p", 0o700),
            ("data: {path: ../x}", "/x", 0o700), ("data: {path: x, mode: \"0750\"}", "/srv/x", 0o750),
            ("data: {mode: 0770}", "/srv/.belfry/p", 0o770), ("data: {mode: 755}", "/srv/.belfry/p", 0o755),
        ] as [(String, String, UInt32)])
    func `the data folder has a path and a mode`(data: String, path: String, mode: UInt32) throws {
        let file = try file(data)
        #expect(file.data == path && file.dataMode == DataMode(folders: mode))
        let moved = file.inProcess(data: "/elsewhere", seed: "s", log: .standard)
        #expect(moved.data == "/elsewhere" && moved.dataMode == file.dataMode)
    }

    @Test(arguments: [
        ("data: [x]", "data: expected a folder, or a mapping with path and mode, found a list"),
        ("data: {mode: rwx}", "data.mode: expected a folder mode (octal, 0100 to 0777), found rwx; \(hint)"),
        ("data: {mode: 0855}", "data.mode: expected a folder mode (octal, 0100 to 0777), found 0855; \(hint)"),
        ("data: {mode: 4755}", "data.mode: expected a folder mode (octal, 0100 to 0777), found 4755; \(hint)"),
        ("data: {mode: 0077}", "data.mode: expected a folder mode (octal, 0100 to 0777), found 0077; \(hint)"),
        ("data: {mode: 0500}", "data.mode: with mode 0500 the stages themselves could not use the folder; \(hint)"),
        ("data: {mode: 0777}", "data.mode: with mode 0777 everybody could change the logs; \(hint)"),
        ("data: {modus: 0700}", "data.modus: unknown key; known: path, mode"),
    ])
    func `invalid settings of the data folder are refused`(data: String, said: String) throws {
        let error = try #require(throws: PipelineFileError.self) { try file(data) }
        #expect(error.errors.count == 1 && error.description.hasSuffix(" " + said), "\(error)")
    }

    private static let hint = "write one like \"0700\" (the owner alone) or \"0750\" (the group may read)"
}
