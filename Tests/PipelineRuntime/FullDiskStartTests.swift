import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct FullDiskStartTests {
    @Test(arguments: ["gate", "relay"])
    func `a stage that starts on a full disk reports this in health, and serves its clients once there is room`(
        _ stage: String
    )
        async throws
    {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: folder)
        let disk = FillableDisk()
        disk.isFull = true
        let host = try RunningHost(stage, of: file, context, calls: disk.calls)
        let (health, welcome) = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: host.host.plan.bind, context.zmq)
            try peer.send(Array(text: "no JSON"))
            try peer.send(LinkFrame.open(name: "early", after: 0, credit: LinkServer.creditMin))
            try peer.send(LinkFrame.health())
            let health = try peer.receive("health")
            disk.isFull = false
            try peer.wait(for: "a start") { host.host.control.report.phase != .diskFull }
            try peer.send(LinkFrame.open(name: "early", after: 0, credit: LinkServer.creditMin))
            return (health, try peer.receive("welcome"))
        }
        #expect(health.contains(#""stage":"\#(stage)","phase":"disk_full""#), "\(health)")
        #expect(health.contains(#""diskFull":{"file":"\#(folder.path)/logs/\#(stage)/"#), "\(health)")
        #expect(welcome.contains(#""log":"\#(stage)""#), "\(welcome)")
        try await host.stop()
    }

    @Test func `a stage that waits for room at its start can be stopped`() async throws {
        let folder = try Folder()
        let disk = FillableDisk()
        disk.isFull = true
        let host = try RunningHost("gate", of: .gateAndRelay(in: folder), HostContext(), calls: disk.calls)
        try await host.wait(for: "a full disk") { $0.phase == .diskFull }
        try await host.stop()
    }
}
