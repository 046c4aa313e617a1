import Foundation
import TestSupport
import Testing

/// A package outside this one builds against `PipelineTestKit`, and its test passes.
///
/// It is built apart, in `.build/example`, which takes minutes the first time.
@Suite struct ExamplePackage {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static var hasSanitizer: Bool {
        dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    }

    @Test(
        .full, .enabled(if: !hasSanitizer, "the example would be built without the sanitizer"), .timeLimit(.minutes(15))
    )
    func thePackageBuildsAndItsTestPasses() async throws {
        try Self.forgetPlan()
        let folder = try Folder()
        let path = try folder.write("", to: "output")
        let output = URL(fileURLWithPath: path)
        let status = try await Self.test(output: FileHandle(forWritingTo: output))
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        #expect(status == 0, "\(text.suffix(4_000))")
        #expect(text.contains("Test run with 1 test in 0 suites passed"), "\(text.suffix(4_000))")
    }

    /// SwiftPM does not notice files that came or went in a package given by path: it plans anew without its last plan.
    private static func forgetPlan() throws {
        let plan = root.appending(path: ".build/example/debug.yaml").path(percentEncoded: false)
        guard FileManager.default.fileExists(atPath: plan) else { return }
        try FileManager.default.removeItem(atPath: plan)
    }

    private static func test(output: FileHandle) async throws -> Int32 {
        Cost.spend(.processes)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swift", "test", "--package-path", root.appending(path: "Tests/ExamplePackage").path(percentEncoded: false),
            "--scratch-path", root.appending(path: ".build/example").path(percentEncoded: false),
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }
}
