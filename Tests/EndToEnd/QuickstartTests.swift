import Foundation
import TestSupport
import Testing

/// `deploy/quickstart` prints what the README shows.
@Suite struct QuickstartTests {
    /// A folder with copies of `deploy` and `Pipelines`. In its pipeline, no stage has a fixed port, and the window is
    /// short.
    private static func checkout(apnsPort: Int, webPort: Int) throws -> Folder {
        let folder = try Folder()
        for name in ["deploy", "Pipelines"] {
            try FileManager.default.copyItem(
                at: ManualPage.root.appending(path: name), to: URL(fileURLWithPath: folder.file(name)))
        }
        var pipeline = try String(contentsOfFile: folder.file("Pipelines/quickstart.yaml"), encoding: .utf8)
        pipeline.replace(/\s+(door|bind): tcp.*/, with: "")
        pipeline.replace("window: 1s", with: "window: 200ms")
        pipeline.replace("port: 7420", with: "port: \(apnsPort)")
        pipeline.replace("listen: 127.0.0.1:7490", with: "listen: 127.0.0.1:\(webPort)")
        try folder.write(pipeline, to: "Pipelines/quickstart.yaml")
        return folder
    }

    @Test func `the quickstart prints what the README shows`() async throws {
        let port = try ReservedPort(forServer: true)
        let webPort = try ReservedPort(forServer: true)
        let folder = try Self.checkout(apnsPort: port.number, webPort: webPort.number)
        let quietSeconds = Sanitizer.isThread ? 4 : 0.8
        let settings = "BELFRY_BIN='\(try Program.folder())' BELFRY_PAUSE=0.02 BELFRY_QUIET_SECONDS=\(quietSeconds)"
        // The script starts the local APNs, `belfry up` with its stages and the gateway, `belfry send` six times,
        // `curl` four times, and three commands at the end.
        Cost.spend(.processes, 21)
        let result = try await Program.run(
            "/bin/sh", ["-c", "exec 2>&1; \(settings) deploy/quickstart"], in: folder.path)
        #expect(result.status == 0)
        let shown = try #require(try Self.shownInReadme())
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(shown.outputMatches(lines), "\(result.output)")
        #expect(lines.contains("    Recipe pancakes"), "\(result.output)")
        #expect(lines.contains("  not pushed to alice-mac: alice-mac made the change"))
    }

    /// The servers and hosts of the script have fixed ports, so that two runs at the same time would fail.
    @Test(.full, .enabled(if: NATSServers.areTested, NATSServers.missing))
    func `the quickstart of a cluster loses no push when a host is killed`() async throws {
        let folder = try Self.checkout(apnsPort: 1, webPort: 1)
        // Three NATS servers, two hosts with five stages each, and `belfry send`.
        Cost.spend(.processes, 16)
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c",
                "exec 2>&1; BELFRY_BIN='\(try Program.folder())' BELFRY_CHANGES=600 deploy/quickstart --cluster",
            ], in: folder.path)
        #expect(result.status == 0 && result.output.contains("600 of 600 pushes have arrived"), "\(result.output)")
        #expect(result.output.contains("deliver: this host runs the stage now: host a was silent"), "\(result.output)")
    }

    /// The command `deploy/quickstart` and its output, as the README shows them.
    private static func shownInReadme() throws -> ManualPage.Command? {
        for case .other(language: "text", let text) in try ManualPage("README.md").blocks {
            let commands = ManualPage.commands(text.split(separator: "\n").map(String.init))
            if let command = commands.first(where: { $0.line.hasPrefix("deploy/quickstart ") }) { return command }
        }
        return nil
    }
}
