import GRDB
import PipelineKit
import PipelineTestKit
import TestSupport
import Testing

@testable import TransportCourier

@Suite(.timeLimit(.minutes(5))) struct CourierConformanceTests {
    @Test func `the courier passes the checks for transports`() async throws {
        let folder = try Folder()
        let path = folder.file("courier.sqlite")
        let peer = TransportPeer {
            let store = try DatabaseQueue(path: path)
            return try await store.read { db in
                try String.fetchAll(db, sql: "SELECT apnsID FROM deliveries ORDER BY rowid")
            }
        }
        let context = TransportContext(name: "courier", sync: .never, console: { _ in })
        let check = try TransportCheck(
            CourierTransport.self, settings: "listen: 127.0.0.1:0\nstore: \(path)", context: context, peer: peer)
        let problems = await check.problems()
        #expect(problems == [])
    }
}
