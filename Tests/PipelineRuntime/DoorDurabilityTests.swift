import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// An answered line must survive a loss of power, because its producer does not send it again.
@Suite struct DoorDurabilityTests {
    @Test(arguments: ["not JSON", #"{"n":1}"#])
    func `an accepted or refused line is answered only after its number is durable`(line: String) async throws {
        let folder = try Folder()
        let context = try HostContext()
        let disk = DelayingDisk()
        let file = try PipelineFile.gateAndRelay(in: folder, log: "{sync: always}")
        let gate = try RunningHost("gate", of: file, context, calls: disk.calls)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        let early = try await SocketThread.run(name: "producer") {
            let producer = try Peer.connected(to: door, context.zmq)
            try producer.send(
                LinkFrame.produce(producer: "p", secret: Peer.secret, first: 1), Array((line + "\n").utf8))
            var isAnswered = false
            // The host updates its report only after it has sent the answers of a turn of its loop.
            try producer.wait(for: "the sync of the line's batch to be delayed") {
                disk.delayedCount > 0 && gate.host.control.report.eventsIn > 0
            } onMessage: { _ in
                isAnswered = true
            }
            disk.runDelayedWork()
            if !isAnswered { _ = try producer.receive("answer") }
            return isAnswered
        }
        #expect(!early, "answered before it was durable")
        try await gate.stop()
    }
}
