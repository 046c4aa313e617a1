import Foundation
import PipelineKit
import PipelineTestKit
import Synchronization
import Testing

@testable import TransportFile

@Suite(.timeLimit(.minutes(5))) struct FileConformanceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a file of lines passes the checks for transports`() async throws {
        let path = folder.path + "/pushes.ndjson"
        let peer = TransportPeer(transportReadsPushes: false) {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap(apnsID)
        }
        let check = try TransportCheck(FileTransport.self, settings: "path: \(path)", peer: peer)
        let problems = await check.problems()
        #expect(problems == [])
    }

    @Test func `a folder for simulators passes the checks for transports`() async throws {
        let path = folder.path + "/pushes"
        let peer = TransportPeer {
            try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { name in
                String(name.dropLast(".apns".count).suffix(36))
            }
        }
        let check = try TransportCheck(FileTransport.self, settings: "as: simctl\nfolder: \(path)", peer: peer)
        let problems = await check.problems()
        #expect(problems == [])
    }

    @Test func `the console with the format json passes the checks for transports`() async throws {
        let shown = Mutex<[String]>([])
        let context = TransportContext(name: "console") { line in shown.withLock { $0.append(line) } }
        let peer = TransportPeer(transportReadsPushes: false) { shown.withLock { $0 }.compactMap(apnsID) }
        let check = try TransportCheck(
            ConsoleTransport.self, settings: "format: json", context: context, peer: peer)
        let problems = await check.problems()
        #expect(problems == [])
    }
}

private func apnsID(_ line: some StringProtocol) -> String? {
    String(line).firstMatch(of: /"apns-id":"([^"]*)"/).map { String($0.1) }
}
