import Foundation
import Testing

/// The compiler checks the lifetimes of views even in a plugin's package that enables no compiler features.
@Suite struct ViewLifetimeTests {
    private static let plugin = """
        import JSON
        import PipelineKit

        nonisolated(unsafe) var json: JSONView?
        nonisolated(unsafe) var line: RawSpan?
        nonisolated(unsafe) var later: () -> Void = {}
        func copyText(_ event: borrowing InputEvent) -> String? { event.json["type"]?.string }
        func copyLine(_ event: borrowing InputEvent) -> [UInt8] { event.line.withUnsafeBytes { Array($0) } }

        func keepJSON(_ event: borrowing InputEvent) { json = event.json }
        func keepMember(_ event: borrowing InputEvent) { json = event.json["record"]?["fields"] }
        func keepLine(_ event: borrowing InputEvent) { line = event.line }
        func keepInClosure(_ event: borrowing InputEvent) { let json = event.json; later = { _ = json.isNull } }
        func keepPush(_ push: DeliveredPush) { json = push.payload }
        func keepMatch(_ arrival: CoalescingArrival) { json = arrival.match }
        func keepState(_ snapshot: inout SnapshotReader) throws { line = try snapshot.view() }
        """

    @Test func `a plugin can copy a view's content but cannot keep the view`() async throws {
        let built = URL(fileURLWithPath: try Program.folder()).resolvingSymlinksInPath()
        let checkouts = built.deletingLastPathComponent().deletingLastPathComponent().path + "/checkouts"
        let modules = [built.path + "/Modules"] + ["CVector", "CCRC32C", "CSyncFileRange"].map { "Sources/" + $0 }
        let yaml = "-fmodule-map-file=\(checkouts)/Yams/Sources/CYaml/include/module.modulemap"
        let compiler = try await Program.run(
            "/usr/bin/env",
            ["swiftc", "-swift-version", "6", "-emit-sil", "-o", "/dev/null", "-", "-Xcc", yaml]
                + modules.flatMap { ["-I", $0] }, input: Self.plugin, in: Self.root)
        let refused = compiler.errors.matches(of: /<stdin>:(\d+):\d+: error: .*escapes its scope/).map(\.1)
        #expect(Set(refused) == Set((10...16).map { Substring("\($0)") }), "\(compiler.errors)")
    }

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
}
