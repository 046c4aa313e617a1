import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct PluginDiskFullTests {
    @Test func `a plugin's outputs wait for room and are appended once`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        // The plugin's program does nothing. The test sends the messages in its place.
        let file = try PipelineFile.gateAndRelay(in: folder, relay: "{from: gate, command: [/bin/sleep, \"600\"]}")
        let disk = FillableDisk()
        let relay = try RunningHost("relay", of: file, context, calls: disk.calls)
        let program = relay.host.plan.pluginEndpoint
        let endpoint = file.sourceStage.bind
        let reportWhileFull = try await SocketThread.run(name: "upstream and program") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 3)
            let plugin = try Peer.connected(to: program, context.zmq)
            try plugin.send(Array(text: #"{"type":"open","protocol":1,"name":"relay"}"#))
            _ = try plugin.receive("welcome")
            try upstream.sendBatch(first: 1, count: 1, "{\"n\":1}\n")
            _ = try plugin.receive("batch")
            disk.isFull = true
            try plugin.send(outputs(through: 1), Array(text: "{\"out\":1}\n"))
            try plugin.wait { relay.host.control.report.phase == .diskFull }
            let report = relay.host.control.report
            // While the host waits for room, it takes neither input nor further outputs.
            try upstream.sendBatch(first: 2, count: 2, "{\"n\":2}\n{\"n\":3}\n")
            try plugin.send(outputs(through: 1), Array(text: "{\"out\":\"again\"}\n"))
            disk.isFull = false
            _ = try plugin.receive("batch")
            try plugin.send(outputs(through: 3), Array(text: "{\"out\":2}\n"))
            try plugin.wait { relay.host.control.report.last >= 2 }
            return report
        }
        #expect(reportWhileFull.last == 0 && reportWhileFull.taken == 0)
        #expect(reportWhileFull.shortage?.file.contains("/logs/relay/") == true)
        try await relay.stop()
        #expect(try relay.events() == ["{\"out\":1}", "{\"out\":2}"])
        #expect(try EventLogs.cursor(directory: relay.logDirectory) == Cursor(["gate": 3]))
    }

    private func outputs(through sequence: Int) -> [UInt8] {
        Array(text: #"{"type":"outputs","through":\#(sequence)}"#)
    }
}
