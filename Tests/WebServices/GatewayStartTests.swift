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

    @Test func `if the log no longer has the events that a store needs, the gateway's error says what to do`()
        async throws
    {
        let log = "{sync: never, segmentBytes: 64KiB, snapshotBytes: 4KiB, retention: {bytes: 64KiB}}"
        try await GatewayRig.with(log: log) { rig in
            let fields = #"{"title":{"value":"\#(String(repeating: "x", count: 50_000))"}}"#
            for round in 0..<100 {
                _ = try await rig.modify("forceReplace", "n1", fields: fields)
                do {
                    try await rig.withSecondGateway(store: rig.folder.file("second\(round)")) { _ in }
                } catch StoreFolderError.behind(let folder, let reason) {
                    let text = StoreFolderError.behind(folder: folder, reason: reason).description
                    #expect(folder.hasSuffix("second\(round)") && text.contains("belfry store copy"), "\(text)")
                    #expect(reason.contains("were removed"), "\(reason)")
                    return
                }
            }
            Issue.record("retention removed no events")
        }
    }
}
