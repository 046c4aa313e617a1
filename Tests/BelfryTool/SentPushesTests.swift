import PipelineKit
import Testing

@testable import BelfryTool

@Suite struct SentPushesTests {
    @Test func `deferred and refused pushes are counted separately`() {
        var sent = SentPushes(transport: "apns")
        let id = Delivery.ID(push: 1, device: "mac")
        sent.add([
            TransportAnswer(id, .accepted, status: 200), TransportAnswer(id, .accepted, status: 200),
            TransportAnswer(id, .failed, status: 413, reason: "PayloadTooLarge"),
            TransportAnswer(id, .deferred, reason: "no answer yet", attempts: 0),
            TransportAnswer(id, .deferred, reason: "no answer yet", attempts: 0),
        ])
        #expect(sent.text == "2 accepted, 1 refused, 2 deferred")
        #expect(
            sent.lines == [
                "apns: 5 pushes given to it; 2 accepted, 1 refused, 2 deferred", "  2 × deferred: no answer yet",
                "  1 × 413 PayloadTooLarge",
            ])
        #expect(!sent.areAllAccepted)
    }
}
