import Testing
import Time

@testable import RecordStore
@testable import WebServices

@Suite("The start of a gateway", .timeLimit(.minutes(2)))
struct GatewayStartTests {
    @Test func `a gateway whose store is ahead of the log ends with an error`() async throws {
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1")
            let folder = rig.folder.file("ahead")
            let summary = try StoreFolder(rig.gateway.settings, of: rig.file()).copy(to: folder)
            let save =
                #"{"type":"record.save","container":"\#(GatewayRig.container)","environment":"development","#
                + #""database":"private","owner":"_alice","record":{"recordName":"later","recordType":"Note","#
                + #""fields":{}},"change":"create"}"#
            let store = try RecordStore(
                path: "\(folder)/store.sqlite", log: try #require(LogIdentity(uuid: summary.log)))
            _ = try RecordWriter(store).apply([
                EventBatch(firstSequence: summary.applied + 1, now: .epoch, lines: Array((save + "\n").utf8))
            ])
            await #expect(throws: (any Error).self) {
                try await rig.withSecondGateway(store: folder) { _ in Issue.record("the gateway became ready") }
            }
        }
    }
}
