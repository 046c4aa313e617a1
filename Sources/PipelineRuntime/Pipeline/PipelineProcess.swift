import PipelineKit
import Synchronization
import ZeroMQ

/// All stages of a pipeline in this process, on real sockets, each on its own thread.
package final class PipelineProcess: Sendable {
    package let hosts: [StageHost]
    package let context: HostContext

    /// - Throws: The errors of ``StageHost/init(_:of:in:)``.
    package convenience init(_ file: PipelineFile, in surroundings: HostSurroundings) throws {
        try self.init(file, context: surroundings.context) { _ in surroundings }
    }

    /// - Parameter surroundings: Returns the surroundings of a stage. Their context must be `context`.
    package init(
        _ file: PipelineFile, context: HostContext, surroundings: (PipelineStage) -> HostSurroundings
    ) throws {
        self.context = context
        hosts = try file.stagesOfHost.map { stage in
            var surroundings = surroundings(stage)
            surroundings.hasOwnProcess = false
            return try StageHost(stage, of: file, in: surroundings)
        }
    }

    /// Decodes the settings of every stage and of its transports. Opens no transport. Checks nothing for a stage that
    /// is a program.
    package func check() throws {
        for host in hosts { try host.check() }
    }

    package func host(_ stage: String) -> StageHost? { hosts.first { $0.plan.stage == stage } }

    /// The host that producers send to.
    package var source: StageHost { hosts[0] }

    /// The last stage in ``PipelineKit/PipelineFile/stagesInOrder``.
    package var last: StageHost { hosts[hosts.count - 1] }

    /// Returns when every stage was stopped. If one stage fails, stops the other stages and throws the error of the
    /// failed stage.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for host in hosts { group.addTask { try await host.run() } }
            defer { stop() }
            while try await group.next() != nil {}
        }
    }

    /// Asks every stage to finish its current batch and return.
    package func stop() {
        for host in hosts { host.control.stop() }
    }

    /// A producer for the source's door, which is in this process too. The producer belongs to the
    /// caller's thread.
    package func producer(_ name: String, wake: WakeSignal? = nil) throws -> Producer {
        try Producer(
            ToolSocket.make(source.plan, context), endpoint: source.plan.door ?? "", name: name,
            secret: PipelineProcess.secret, wake: wake)
    }

    /// This secret is a constant, because the same input must give the same log each time. It needs no protection,
    /// because no other process reaches the door.
    private static let secret = "inside one process"
}

/// Makes sockets for tools that connect to a stage.
package enum ToolSocket {
    /// - Parameter plan: The stage's plan, for its keys; nil for a stage without keys.
    package static func make(_ plan: HostPlan?, _ context: HostContext) throws -> ClientSocket {
        try make(keys: plan?.curve?.toSelf, context)
    }

    package static func make(keys: ClientKeys?, _ context: HostContext) throws -> ClientSocket {
        try ClientSocket(context, keys, .link(linger: .milliseconds(200)))
    }
}

extension ZMQSocketOptions {
    /// Options without a high-water mark, because credit limits the messages on a link.
    static func link(linger: Duration) -> ZMQSocketOptions {
        ZMQSocketOptions().with {
            $0.linger = linger
            $0.sendHighWaterMessages = 0
            $0.receiveHighWaterMessages = 0
            $0.reconnectInterval = .milliseconds(20)
            $0.reconnectIntervalMax = .milliseconds(500)
        }
    }
}
