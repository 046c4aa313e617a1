import EventLog
import PipelineKit
import ZeroMQ

/// Takes all pushes, in order, instead of the transports in the pipeline file.
package typealias PushSink = @Sendable ([Delivery]) -> Void

/// Opens the home of a pipeline's logs for a stage. `host` is the name of this host in the pipeline file; nil if the file
/// names no hosts.
package typealias HomeOpener =
    @Sendable (HomeSettings, _ pipeline: String, _ host: String?, _ stage: String) throws -> any LogHome

/// The values that a host gets from the program that runs it.
package struct HostSurroundings: Sendable {
    package var registry: Registry
    package var context: HostContext
    package var clock: HostClock
    /// Writes the lines of the console transport; by default, to standard output.
    package var console: @Sendable (String) throws -> Void
    /// For `belfry run` and tests: takes every push. With a sink, no transport is opened.
    package var sink: PushSink?
    /// Opens the home of the logs. Nil for a program that uses local files only.
    package var openHome: HomeOpener?
    package var time = HostTime()
    package var calls = FileCalls()
    /// The outputs of one step are appended in parts of about this many bytes.
    package var partBytes = Outbox.partBytes
    /// Whether the stage has a process of its own, so that a crash of the process is a crash of the stage.
    package var hasOwnProcess = true
    /// How the stage's previous process ended, if the supervisor reported it.
    package var previousEnd: String?
    /// The keys of a tool that connects to stages but runs no stage. With them the tool needs no stage's secret key.
    package var toolKeys: CurveKeyPair?

    package init(
        registry: Registry, context: HostContext, clock: HostClock = .wall,
        console: @escaping @Sendable (String) throws -> Void = { print($0) }, sink: PushSink? = nil
    ) {
        self.registry = registry
        self.context = context
        self.clock = clock
        self.console = console
        self.sink = sink
    }
}
